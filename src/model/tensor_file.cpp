// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_file.h"

#include <cstdint>

#include "model/onnx_tensor.h"

namespace hone::model {

Result<NamedTensor> read_tensor_file(const fs::path& file) {
  const auto mapped = HONE_TRY(MappedFile::open(file));
  const auto bytes = mapped->bytes();
  onnx::TensorProto proto;
  // Protobuf counts in int; a message can't be larger.
  if (bytes.size() > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(
        bad_input("not a serialized ONNX tensor", file.string(), "it may be truncated, or a sequence or optional"));
  if (proto.data_location() == onnx::TensorProto::EXTERNAL)
    return fail(unsupported("tensor keeps its data in another file", file.string(), "store it in the .pb itself"));
  forget_payload(proto);
  std::string name = proto.name();
  return NamedTensor{std::move(name), HONE_TRY(tensor_from_proto(proto, {}, file.string()))};
}

}  // namespace hone::model
