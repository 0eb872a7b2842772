// Model: inlining of functions, and raising the opset. ONNX's own code does both; the Graph is written out without its
// large weights, changed, and read again, and the weights come back by reference.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "model/model_state.h"

#include "onnx/inliner/inliner.h"
#include "onnx/version_converter/convert.h"

namespace hone::model {

Status Model::inline_functions() {
  if (state_->rest.functions().empty()) return {};
  Payloads payloads;
  onnx::ModelProto proto = state_->write(TensorData::kFull, &payloads);
  try {
    onnx::inliner::InlineLocalFunctions(proto, /*convert_version=*/false);
  } catch (const std::exception& error) {
    return fail(unsupported(std::string("can't inline the model's functions: ") + error.what(), state_->path.string()));
  }
  auto state = HONE_TRY(State::read(std::move(proto), std::move(payloads), state_->path.string()));
  state->path = state_->path;
  state->external = state_->external;
  state_ = std::move(state);
  return {};
}

namespace {

// The version converter rebuilds every tensor and keeps, of what we could hang a reference on, only external_data.
constexpr const char* kPlaceholder = "hone-payload";

void hide_payloads(onnx::ModelProto& proto) {
  HONE_CHECK(visit_tensors(proto, [](onnx::TensorProto& tensor) -> Status {
               const auto payload = payload_of(tensor);
               if (!payload) return {};
               forget_payload(tensor);
               tensor.set_data_location(onnx::TensorProto::EXTERNAL);
               auto* entry = tensor.add_external_data();
               entry->set_key(kPlaceholder);
               entry->set_value(fmt::format("{}", *payload));
               return {};
             }).has_value());
}

void find_payloads(onnx::ModelProto& proto) {
  HONE_CHECK(visit_tensors(proto, [](onnx::TensorProto& tensor) -> Status {
               if (tensor.external_data_size() == 0 || tensor.external_data(0).key() != kPlaceholder) return {};
               const size_t index = std::stoull(tensor.external_data(0).value());
               tensor.clear_external_data();
               tensor.clear_data_location();
               refer_to_payload(tensor, index);
               return {};
             }).has_value());
}

}  // namespace

Status Model::convert_opset(int64_t version) {
  const int64_t now = opset();
  if (version == now) return {};
  const std::string where = state_->path.string();
  if (version < now)
    return fail(usage_error(fmt::format("opset can only be raised: {} asked for, model has {}", version, now), where));
  Payloads payloads;
  onnx::ModelProto proto = state_->write(TensorData::kFull, &payloads);
  hide_payloads(proto);
  onnx::ModelProto converted;
  try {
    converted = onnx::version_conversion::ConvertVersion(proto, static_cast<int>(version));
  } catch (const std::exception& error) {
    return fail(unsupported(fmt::format("can't raise the opset from {} to {}: {}", now, version, error.what()), where));
  }
  // The converter drops everything around the graph.
  *proto.mutable_graph()->mutable_node() = std::move(*converted.mutable_graph()->mutable_node());
  *proto.mutable_graph()->mutable_initializer() = std::move(*converted.mutable_graph()->mutable_initializer());
  for (auto& opset : *proto.mutable_opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") opset.set_version(version);
  proto.set_ir_version(std::max(proto.ir_version(), converted.ir_version()));
  find_payloads(proto);
  auto state = HONE_TRY(State::read(std::move(proto), std::move(payloads), where));
  state->path = state_->path;
  state->external = state_->external;
  state_ = std::move(state);
  return {};
}

}  // namespace hone::model
