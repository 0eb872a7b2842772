// ExternalData: the files beside a model that hold tensors' bytes (TensorProto.external_data). Each is mapped once.
//
// A model is untrusted: its locations must name regular files inside the model's folder, also after symlinks are
// followed, and ranges must lie inside the files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/onnx_protos.h"
#include "model/payload.h"

namespace hone::model {

class ExternalData {
 public:
  explicit ExternalData(fs::path folder) : folder_(std::move(folder)) {}
  // The bytes of a TensorProto with data_location EXTERNAL; `where` goes into errors.
  Result<Payload> range(const onnx::TensorProto& proto, const std::string& where);

 private:
  Result<std::shared_ptr<const MappedFile>> file(const std::string& location, const std::string& where);

  fs::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace hone::model
