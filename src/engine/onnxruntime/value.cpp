// SPDX-License-Identifier: Apache-2.0
#include "engine/onnxruntime/value.h"

namespace hone::engine::ort {

TensorInfo tensor_info(std::string name, const Ort::TypeInfo& type) {
  TensorInfo out;
  out.name = std::move(name);
  out.is_tensor = type.GetONNXType() == ONNX_TYPE_TENSOR;
  out.rank_known = false;
  if (!out.is_tensor) return out;
  const auto info = type.GetTensorTypeAndShapeInfo();
  // The numbers of ONNXTensorElementDataType are those of onnx.TensorProto.DataType.
  out.dtype = static_cast<model::DType>(info.GetElementType());
  out.dims = info.GetShape();
  out.rank_known = !out.dims.empty();
  return out;
}

Ort::Value allocated_value(model::DType dtype, const std::vector<int64_t>& dims) {
  const Ort::AllocatorWithDefaultOptions allocator;
  return Ort::Value::CreateTensor(allocator, dims.data(), dims.size(), static_cast<ONNXTensorElementDataType>(dtype));
}

Ort::Value value_over(const model::Tensor& tensor) {
  const auto& dims = tensor.dims();
  if (tensor.dtype() == model::DType::kString) {
    Ort::Value out = allocated_value(tensor.dtype(), dims);
    std::vector<const char*> texts;
    for (const auto& text : tensor.strings()) texts.push_back(text.c_str());
    if (!texts.empty()) out.FillStringTensor(texts.data(), texts.size());
    return out;
  }
  // A tensor without elements may have no memory; ONNX Runtime asks for a pointer all the same.
  static std::byte nothing{};
  const auto bytes = tensor.bytes();
  void* data = bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data());
  static const Ort::MemoryInfo cpu = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  return Ort::Value::CreateTensor(cpu, data, bytes.size(), dims.data(), dims.size(),
                                  static_cast<ONNXTensorElementDataType>(tensor.dtype()));
}

namespace {

model::Tensor tensor_of(const Ort::Value& value) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  const auto dtype = static_cast<model::DType>(info.GetElementType());
  std::vector<int64_t> dims = info.GetShape();
  if (dtype == model::DType::kString) {
    std::vector<std::string> strings;
    const size_t count = info.GetElementCount();
    for (size_t i = 0; i < count; ++i) strings.push_back(value.GetStringTensorElement(i));
    return model::Tensor(std::move(dims), std::move(strings));
  }
  std::span<std::byte> bytes;
  model::Tensor out = model::Tensor::make(dtype, std::move(dims), &bytes);
  if (!bytes.empty()) std::memcpy(bytes.data(), value.GetTensorRawData(), bytes.size());
  return out;
}

}  // namespace

void copy_out(const std::string& name, const Ort::Value& value, model::NamedTensors& out) {
  if (!value.HasValue()) return;
  const ONNXType kind = value.GetTypeInfo().GetONNXType();
  if (kind == ONNX_TYPE_TENSOR || value.IsTensor()) {
    out.emplace_back(name, tensor_of(value));
    return;
  }
  const Ort::AllocatorWithDefaultOptions allocator;
  const size_t count = value.GetCount();
  for (size_t i = 0; i < count; ++i) {
    const std::string part = kind == ONNX_TYPE_MAP ? (i == 0 ? ".keys" : ".values") : "[" + std::to_string(i) + "]";
    copy_out(name + part, value.GetValue(static_cast<int>(i), allocator), out);
  }
}

}  // namespace hone::engine::ort
