// Model: shape and type inference (by ONNX, with data propagation), and fixing the shapes of inputs.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "model/graph_reader.h"
#include "model/model_state.h"

#include "onnx/shape_inference/implementation.h"

namespace hone::model {

namespace {

// Node-level complaints that say "this can't be", as opposed to "this can't be worked out". ONNX throws one exception
// type for both, so the words tell (fail_shape_inference and fail_type_inference in onnx 1.23).
bool is_contradiction(const std::string& line) {
  const auto has = [&](const char* words) { return line.find(words) != std::string::npos; };
  if (has("Data size mismatch") || has("ParseData type mismatch") || has("Cannot parse data")) return false;
  for (const char* words : {"ncompatible", "ismatch", "an't merge", " differ", "does not match", "must have same"})
    if (has(words)) return true;
  return false;
}

// The first line that is a contradiction; empty when there is none.
std::string first_contradiction(const std::string& complaints) {
  size_t start = 0;
  while (start < complaints.size()) {
    const size_t end = std::min(complaints.find('\n', start), complaints.size());
    const std::string line = complaints.substr(start, end - start);
    if (is_contradiction(line)) return line;
    start = end + 1;
  }
  return {};
}

}  // namespace

Status Model::infer_shapes() {
  onnx::ModelProto proto = state_->write(TensorData::kSmall, nullptr);
  std::string complaints;
  try {
    // Strict, so that contradictions are told; the types found are in `proto` also when it throws.
    const onnx::ShapeInferenceOptions options(/*check_type=*/false, /*strict=*/1, /*data_propagation=*/true);
    std::unordered_map<std::string, onnx::TensorShapeProto> data;
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(), options, &data);
  } catch (const std::exception& error) {
    complaints = error.what();
  }
  const std::string contradiction = first_contradiction(complaints);
  if (!contradiction.empty())
    return fail(bad_input("shapes contradict each other: " + contradiction, state_->path.string()));
  GraphReader::read_types(proto.graph(), *state_->graph);
  return {};
}

namespace {

// One dimension of `--shape`: returns the symbol it fixes (may be empty).
Status fix_dim(const std::string& input, size_t axis, int64_t asked, Dim& dim,
               std::map<std::string, int64_t>& symbols) {
  const std::string where = fmt::format("input '{}', dimension {}", input, axis);
  if (asked < 0) return fail(bad_input(fmt::format("dimension must not be negative: {}", asked), where));
  if (dim.known() && dim.value != asked)
    return fail(
        bad_input(fmt::format("shape contradicts the model: {} asked for, but it is {}", asked, dim.value), where));
  if (!dim.known() && !dim.symbol.empty()) {
    const auto [known, fresh] = symbols.emplace(dim.symbol, asked);
    if (!fresh && known->second != asked)
      return fail(bad_input(
          fmt::format("shape contradicts itself: '{}' can't be both {} and {}", dim.symbol, known->second, asked),
          where));
  }
  dim = {asked, {}};
  return {};
}

}  // namespace

Status Model::freeze_shapes(const std::map<std::string, std::vector<int64_t>>& shapes) {
  // Worked on a copy: an error leaves the model as it was.
  auto graph = state_->graph->clone();
  std::map<std::string, int64_t> symbols;
  for (const auto& [name, dims] : shapes) {
    const ValueId id = graph->find_value(name);
    if (id == kNoValue || !graph->value(id).is_input) {
      std::string known;
      for (const ValueId input : graph->inputs()) known += (known.empty() ? "" : ", ") + graph->value(input).name;
      return fail(bad_input("model has no input of that name: '" + name + "'", state_->path.string(),
                            "its inputs are: " + known));
    }
    Type type = graph->value(id).type;
    if (type.kind != TypeKind::kTensor)
      return fail(bad_input("input is not a tensor: '" + name + "' is " + model::to_text(type), state_->path.string()));
    if (!type.shape) type.shape = Shape(dims.size());
    if (type.shape->size() != dims.size())
      return fail(bad_input(
          fmt::format("shape has the wrong rank: {} given, {} is {}", dims.size(), name, model::to_text(type)),
          state_->path.string()));
    for (size_t axis = 0; axis < dims.size(); ++axis)
      HONE_TRY(fix_dim(name, axis, dims[axis], (*type.shape)[axis], symbols));
    graph->set_type(id, std::move(type));
  }
  // A symbol that another input already has as a number can't appear: numbers have no symbol. Outputs, declared types
  // and the other inputs follow.
  GraphReader::substitute(*graph, symbols);
  GraphReader::forget_inferred_types(*graph);
  std::swap(graph, state_->graph);
  if (auto status = infer_shapes(); !status) {
    std::swap(graph, state_->graph);
    return status;
  }
  return {};
}

}  // namespace hone::model
