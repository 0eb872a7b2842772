// Ort::Value <-> Tensor, and ONNX Runtime's types as TensorInfo.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"
#include "engine/onnxruntime/ort.h"

namespace hone::engine::ort {

// ONNX Runtime does not tell a scalar from a tensor of unknown rank: both come with no dims and rank_known = false.
TensorInfo tensor_info(std::string name, const Ort::TypeInfo& type);
// A value over the tensor's bytes (numbers; `tensor` must outlive it and be aligned) or a copy (strings).
Ort::Value value_over(const model::Tensor& tensor);
// A value with its own uninitialised memory.
Ort::Value allocated_value(model::DType dtype, const std::vector<int64_t>& dims);
// Copies a value out. What is not a tensor is flattened: the parts of a sequence are "name[0]", "name[1]", ...; a map
// is "name.keys" and "name.values"; an absent optional gives nothing. Throws Ort::Exception.
void copy_out(const std::string& name, const Ort::Value& value, model::NamedTensors& out);

}  // namespace hone::engine::ort
