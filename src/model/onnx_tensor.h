// Conversion between Tensor and onnx.TensorProto, Type and onnx.TypeProto.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/onnx_protos.h"
#include "model/payload.h"
#include "model/tensor.h"
#include "model/type.h"

namespace hone::model {

// "float32[2,3]", for errors.
std::string shape_text(DType dtype, const std::vector<int64_t>& dims);

// The payload a TensorProto refers to, if any.
std::optional<size_t> payload_of(const onnx::TensorProto& proto);
void refer_to_payload(onnx::TensorProto& proto, size_t index);
void forget_payload(onnx::TensorProto& proto);

// Checks dims, element type and data size; `where` goes into the error.
Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, const Payloads& payloads, const std::string& where);

// How the data of a tensor is written.
enum class TensorData {
  kFull,   // payloads by reference, small ones inline
  kSmall,  // only what shape inference may want to look at: small tensors and integers of moderate size
  kEmpty,  // none, and no elements either: for the ONNX checker, which wants data and dims to agree
};
// Fills dims, element type and data; keeps the other fields of `proto`.
void tensor_to_proto(const Tensor& tensor, TensorData data, Payloads* payloads, onnx::TensorProto* proto);
// The same done to a TensorProto that still has its payload reference.
void reduce_data(onnx::TensorProto& proto, TensorData data, const Payloads& payloads);

Type type_from_proto(const onnx::TypeProto& proto);
void type_to_proto(const Type& type, onnx::TypeProto* proto);

// Calls `visit` for every TensorProto a payload can belong to: initializers and attributes in graphs, subgraphs,
// functions and training graphs. Stops at the first error.
using TensorVisitor = std::function<Status(onnx::TensorProto&)>;
Status visit_tensors(onnx::ModelProto& model, const TensorVisitor& visit);
Status visit_tensors(onnx::GraphProto& graph, const TensorVisitor& visit);
Status visit_tensors(onnx::NodeProto& node, const TensorVisitor& visit);
Status visit_tensors(onnx::AttributeProto& attribute, const TensorVisitor& visit);

}  // namespace hone::model
