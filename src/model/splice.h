// Splice: takes the large tensors' bytes out of a serialized model, and puts them back while writing.
//
//   file (mapped)  --strip-->  skeleton (small, for protobuf) + payloads (spans over the mapping)
//   skeleton + payloads  --splice-->  file (streamed; sizes of the enclosing messages are worked out first)
//
// Only the messages a TensorProto can be reached through are walked (onnx.proto); everything else is copied verbatim.
// Sparse tensors stay inside the skeleton: the ONNX checker reads their bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/payload.h"

namespace hone::model {

struct Skeleton {
  std::string bytes;
  Payloads payloads;
};

// A model file's bytes; `file` may be null (then `owner` keeps the bytes). Never reads outside `model`.
Result<Skeleton> strip(std::span<const std::byte> model, const std::shared_ptr<const void>& owner,
                       const std::shared_ptr<const MappedFile>& file);

// Takes what splice() writes, in order.
class SpliceSink {
 public:
  virtual ~SpliceSink() = default;
  virtual Status text(std::string_view bytes) = 0;
  virtual Status payload(const Payload& payload) = 0;
};

// Size of the whole model that splice() would write.
uint64_t spliced_size(std::string_view skeleton, const Payloads& payloads);
Status splice(std::string_view skeleton, const Payloads& payloads, SpliceSink& sink);

}  // namespace hone::model
