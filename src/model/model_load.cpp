// Model: reading. File -> skeleton and payloads (splice.h) -> ModelProto -> external data -> Graph.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "model/external_data.h"
#include "model/graph_reader.h"
#include "model/model_state.h"
#include "model/splice.h"

#include "onnx/defs/parser.h"

namespace hone::model {

namespace {

// Turns external data into payloads. Returns whether there was any.
Result<bool> map_external_data(onnx::ModelProto& proto, Payloads& payloads, const fs::path& path) {
  ExternalData external(path.parent_path());
  bool any = false;
  HONE_TRY(visit_tensors(proto, [&](onnx::TensorProto& tensor) -> Status {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return {};
    const std::string where = path.string() + ": tensor '" + tensor.name() + "'";
    if (payload_of(tensor) || tensor.has_raw_data())
      return fail(bad_input("tensor has both external and inline data", where));
    payloads.push_back(HONE_TRY(external.range(tensor, where)));
    tensor.clear_external_data();
    tensor.clear_data_location();
    refer_to_payload(tensor, payloads.size() - 1);
    any = true;
    return {};
  }));
  return any;
}

}  // namespace

Result<std::unique_ptr<Model::State>> Model::State::read(onnx::ModelProto proto, Payloads payloads,
                                                         const std::string& where) {
  if (!proto.has_graph()) return fail(bad_input("not an ONNX model: it has no graph", where));
  auto state = std::make_unique<State>();
  auto opsets = std::make_shared<std::map<std::string, int64_t, std::less<>>>();
  for (const auto& opset : proto.opset_import())
    (*opsets)[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
  if (opsets->empty())
    return fail(bad_input("not an ONNX model: it imports no opset", where, "export it again with a current exporter"));
  const ReadContext context{payloads, where, proto.ir_version(), opsets};
  state->graph = HONE_TRY(GraphReader::read(*proto.mutable_graph(), context));
  proto.clear_graph();
  // Training graphs read initializers of the main graph.
  for (auto& training : *proto.mutable_training_info()) {
    for (const auto& node : training.algorithm().node())
      for (const auto& name : node.input()) GraphReader::pin(*state->graph, name);
    for (const auto& binding : training.update_binding()) GraphReader::pin(*state->graph, binding.key());
    for (const auto& binding : training.initialization_binding()) GraphReader::pin(*state->graph, binding.key());
  }
  state->rest = std::move(proto);
  state->payloads = std::move(payloads);
  return state;
}

Result<std::unique_ptr<Model::State>> Model::State::parse(std::span<const std::byte> bytes,
                                                          const std::shared_ptr<const void>& owner,
                                                          const std::shared_ptr<const MappedFile>& file,
                                                          const fs::path& path) {
  if (bytes.empty()) return fail(bad_input("file is empty", path.string(), "give an ONNX model"));
  auto skeleton = strip(bytes, owner, file);
  if (!skeleton) {
    Error error = std::move(skeleton).error();
    error.where = path.string();
    return fail(std::move(error));
  }
  onnx::ModelProto proto;
  if (skeleton->bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(skeleton->bytes.data(), static_cast<int>(skeleton->bytes.size())))
    return fail(bad_input("not an ONNX model", path.string(), "give a file that an ONNX exporter wrote"));
  skeleton->bytes = {};
  const bool external = HONE_TRY(map_external_data(proto, skeleton->payloads, path));
  auto state = HONE_TRY(State::read(std::move(proto), std::move(skeleton->payloads), path.string()));
  state->path = path;
  state->external = external;
  return state;
}

Result<Model> Model::load(const fs::path& path) {
  const auto file = HONE_TRY(MappedFile::open(path));
  return Model(HONE_TRY(State::parse(file->bytes(), file, file, path)));
}

Result<Model> Model::from_bytes(std::string bytes, const fs::path& path) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return Model(HONE_TRY(State::parse(std::as_bytes(std::span(*owner)), owner, nullptr, path)));
}

Result<Model> Model::from_text(std::string_view onnx_text) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, onnx_text);
  if (!status.IsOK()) return fail(bad_input("can't parse ONNX text: " + status.ErrorMessage()));
  // The parser accepts shorter forms than the checker.
  if (proto.graph().name().empty()) proto.mutable_graph()->set_name("graph");
  return Model(HONE_TRY(State::read(std::move(proto), {}, "text")));
}

}  // namespace hone::model
