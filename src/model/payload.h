// Payload: the bytes of one large tensor, kept outside the protobuf messages.
//
// Protobuf would copy every weight and refuses messages over 2 GB. So a TensorProto in memory holds, instead of a large
// raw_data, a reference: an unknown field number kPayloadField with the index of its Payload. splice.h takes payloads
// out of a file's bytes and puts them back. References in files are dropped on reading, so they can't be forged.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/file.h"

namespace hone::model {

struct Payload {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const MappedFile> file;  // set when `bytes` lie in it
};
using Payloads = std::vector<Payload>;

// Not used by onnx.proto, below protobuf's limit of 2^29 - 1.
inline constexpr uint32_t kPayloadField = 100'001;
// Tensor data of at least this size becomes a payload.
inline constexpr size_t kPayloadBytes = 1024;

}  // namespace hone::model
