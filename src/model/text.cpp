// Model: ONNX text form.
// SPDX-License-Identifier: Apache-2.0
#include "model/graph_writer.h"
#include "model/model_state.h"

#include "onnx/defs/printer.h"

namespace hone::model {

std::string Model::to_text(size_t weight_limit) const {
  onnx::ModelProto proto = state_->write(TensorData::kSmall, nullptr);
  const auto elide = [&](onnx::TensorProto& tensor) -> Status {
    const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    if (element_count(dims) <= static_cast<int64_t>(weight_limit)) return {};
    // Raw data of an element type the printer has no form for prints as "...".
    onnx::TensorProto shown;
    shown.set_name(tensor.name());
    *shown.mutable_dims() = tensor.dims();
    shown.set_data_type(tensor.data_type());
    shown.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = shown.add_external_data();
    entry->set_key("elided");
    entry->set_value("...");
    tensor = std::move(shown);
    return {};
  };
  HONE_CHECK(visit_tensors(proto, elide).has_value());
  try {
    return onnx::ProtoToString(proto);
  } catch (const std::exception& error) {
    return std::string("(no text form: ") + error.what() + ")";
  }
}

}  // namespace hone::model
