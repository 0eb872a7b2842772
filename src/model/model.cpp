// Model: what it says about itself. Loading, saving, checking and inference have files of their own.
// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include "model/graph_writer.h"
#include "model/model_state.h"

namespace hone::model {

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::clone() const {
  auto copy = std::make_unique<State>(*state_);
  copy->graph = state_->graph->clone();
  return Model(std::move(copy));
}

Graph& Model::graph() { return *state_->graph; }
const Graph& Model::graph() const { return *state_->graph; }
const fs::path& Model::path() const { return state_->path; }
int64_t Model::ir_version() const { return state_->rest.ir_version(); }
int64_t Model::opset(std::string_view domain) const { return state_->graph->opset(domain); }

std::string Model::producer() const {
  const auto& rest = state_->rest;
  if (rest.producer_version().empty()) return rest.producer_name();
  return rest.producer_name() + " " + rest.producer_version();
}

std::map<std::string, std::string> Model::metadata() const {
  std::map<std::string, std::string> out;
  for (const auto& entry : state_->rest.metadata_props()) out[entry.key()] = entry.value();
  return out;
}

std::vector<std::string> Model::function_names() const {
  std::vector<std::string> names;
  for (const auto& function : state_->rest.functions()) names.push_back(function.domain() + ":" + function.name());
  return names;
}

namespace {

uint64_t bytes_of(const Graph& graph) {
  uint64_t total = 0;
  for (size_t i = 0; i < graph.value_limit(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (graph.value_alive(id) && graph.value(id).initializer) total += graph.value(id).initializer->byte_size();
  }
  for (const NodeId id : graph.order()) {
    for (const auto& [name, attribute] : graph.node(id).attributes)
      if (const auto* tensor = std::get_if<Tensor>(&attribute)) total += tensor->byte_size();
    for (const auto& inner : graph.subgraphs(id)) total += bytes_of(*inner);
  }
  return total;
}

}  // namespace

uint64_t Model::weight_bytes() const { return bytes_of(*state_->graph); }

onnx::ModelProto Model::State::write(TensorData data, Payloads* out) const {
  onnx::ModelProto proto = rest;
  // References in functions keep their numbers: the list starts with the payloads they were read with.
  if (data == TensorData::kFull)
    *out = payloads;
  else
    HONE_CHECK(visit_tensors(proto, [&](onnx::TensorProto& tensor) -> Status {
                 reduce_data(tensor, data, payloads);
                 return {};
               }).has_value());
  GraphWriter(data, rest.ir_version(), out).write(*graph, proto.mutable_graph());
  // Domains that edits have imported.
  std::map<std::string, int64_t, std::less<>> missing;
  for (const auto& [domain, version] : graph->imported_opsets()) missing.emplace(domain, version);
  for (auto& opset : *proto.mutable_opset_import()) {
    const auto found = missing.find(opset.domain() == "ai.onnx" ? "" : opset.domain());
    if (found == missing.end()) continue;
    opset.set_version(found->second);
    missing.erase(found);
  }
  for (const auto& [domain, version] : missing) {
    auto* opset = proto.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  return proto;
}

}  // namespace hone::model
