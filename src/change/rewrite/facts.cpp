// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::change {

using model::Graph;
using model::kNoNode;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

std::optional<double> scalar_constant(const Graph& graph, ValueId value) {
  const model::Tensor* tensor = value == kNoValue ? nullptr : graph.constant(value);
  if (tensor == nullptr || tensor->count() != 1 || tensor->dtype() == model::DType::kString) return std::nullopt;
  const Result<std::vector<double>> numbers = tensor->to_doubles();
  if (!numbers) return std::nullopt;
  return numbers->front();
}

std::optional<std::vector<int64_t>> int_constants(const Graph& graph, ValueId value) {
  const model::Tensor* tensor = value == kNoValue ? nullptr : graph.constant(value);
  if (tensor == nullptr || !model::is_integer(tensor->dtype())) return std::nullopt;
  Result<std::vector<int64_t>> numbers = tensor->to_int64s();
  if (!numbers) return std::nullopt;
  return std::move(*numbers);
}

bool near(double found, double expected, double relative_tolerance) {
  return std::fabs(found - expected) <= relative_tolerance * std::fabs(expected);
}

std::optional<std::vector<int64_t>> node_axes(const Graph& graph, NodeId id, size_t slot) {
  const Node& node = graph.node(id);
  std::optional<std::vector<int64_t>> axes = node.attribute_ints("axes");
  if (!axes) axes = int_constants(graph, node.input(slot));
  if (!axes) return std::nullopt;
  int rank = rank_of(graph, node.input(0));
  if (rank >= 0 && node.is("Unsqueeze")) rank += static_cast<int>(axes->size());
  for (int64_t& axis : *axes) {
    if (axis >= 0) continue;
    if (rank < 0) return std::nullopt;
    axis += rank;
  }
  std::sort(axes->begin(), axes->end());
  return axes;
}

std::optional<std::vector<int64_t>> static_dims(const Graph& graph, ValueId value) {
  if (value == kNoValue) return std::nullopt;
  if (const model::Tensor* tensor = graph.constant(value)) return tensor->dims();
  const model::Type& type = graph.value(value).type;
  if (type.kind != model::TypeKind::kTensor) return std::nullopt;
  return type.dims();
}

int rank_of(const Graph& graph, ValueId value) {
  if (value == kNoValue) return -1;
  if (const model::Tensor* tensor = graph.constant(value)) return static_cast<int>(tensor->rank());
  const model::Type& type = graph.value(value).type;
  return type.kind == model::TypeKind::kTensor ? type.rank() : -1;
}

int64_t last_dim(const Graph& graph, ValueId value) {
  const int rank = rank_of(graph, value);
  if (rank < 1) return -1;
  if (const model::Tensor* tensor = graph.constant(value)) return tensor->dims().back();
  return graph.value(value).type.shape->back().value;
}

model::DType dtype_of_value(const Graph& graph, ValueId value) {
  if (value == kNoValue) return model::DType::kUndefined;
  if (const model::Tensor* tensor = graph.constant(value)) return tensor->dtype();
  const model::Type& type = graph.value(value).type;
  return type.kind == model::TypeKind::kTensor ? type.dtype : model::DType::kUndefined;
}

bool same_shape(const Graph& graph, ValueId a, ValueId b) {
  if (a == kNoValue || b == kNoValue) return false;
  if (a == b) return true;
  const auto shape_of = [&](ValueId value) -> std::optional<model::Shape> {
    if (const model::Tensor* tensor = graph.constant(value)) {
      model::Shape shape;
      for (const int64_t dim : tensor->dims()) shape.push_back({dim, {}});
      return shape;
    }
    const model::Type& type = graph.value(value).type;
    return type.kind == model::TypeKind::kTensor ? type.shape : std::nullopt;
  };
  const auto left = shape_of(a), right = shape_of(b);
  if (!left || !right || left->size() != right->size()) return false;
  for (size_t i = 0; i < left->size(); ++i) {
    const model::Dim &l = (*left)[i], &r = (*right)[i];
    const bool equal = l.known() ? l.value == r.value : !r.known() && !l.symbol.empty() && l.symbol == r.symbol;
    if (!equal) return false;
  }
  return true;
}

std::string outside_reader(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<ValueId>& kept) {
  for (const NodeId id : nodes) {
    for (const ValueId output : graph.node(id).outputs) {
      if (output == kNoValue || std::find(kept.begin(), kept.end(), output) != kept.end()) continue;
      if (!graph.used_outside(output, nodes)) continue;
      const model::Value& value = graph.value(output);
      if (value.is_output) return fmt::format("{} makes the graph output '{}'", describe(graph, id), value.name);
      for (const model::Use& use : value.uses) {
        const bool captured = use.slot == model::kCaptured;
        if (!captured && std::find(nodes.begin(), nodes.end(), use.node) != nodes.end()) continue;
        return fmt::format("{} also feeds {}{}", describe(graph, id), captured ? "a subgraph of " : "",
                           describe(graph, use.node));
      }
      return fmt::format("{} is read elsewhere", describe(graph, id));
    }
  }
  return {};
}

std::string describe(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  // The label of a node without a name begins with its operator already.
  if (node.name.empty()) return node.label(graph);
  return fmt::format("{} '{}'", node.op_type, node.name);
}

std::string describe_value(const Graph& graph, ValueId id) {
  if (id == kNoValue) return "absent";
  const model::Value& value = graph.value(id);
  if (value.producer != kNoNode && graph.node(value.producer).op_type != "Constant")
    return fmt::format("'{}' of {}", value.name, describe(graph, value.producer));
  if (graph.constant(id) != nullptr) return fmt::format("the constant '{}'", value.name);
  if (value.is_input) return fmt::format("the graph input '{}'", value.name);
  return fmt::format("'{}'", value.name);
}

bool can_replace(const Graph& graph, ValueId from, ValueId to) {
  if (!graph.value(from).is_output) return true;
  const model::Value& value = graph.value(to);
  return value.producer != kNoNode && !value.is_output;
}

void replace_match(Graph& graph, const std::vector<NodeId>& nodes, ValueId from, ValueId to) {
  HONE_CHECK(from != to);
  const bool moved = graph.replace_uses(from, to);
  const NodeId root = graph.value(from).producer;
  if (!moved) {
    // The output's name stays with `from`: an Identity fills it. Everything else still reads `from`.
    HONE_CHECK(root != kNoNode, "'{}' has no producer", graph.value(from).name);
    model::NodeSpec identity{.op_type = "Identity", .inputs = {to}, .outputs = {from}};
    graph.remove_node(root);
    graph.add_node(std::move(identity));
  }
  for (bool removed = true; removed;) {
    removed = false;
    for (const NodeId id : nodes) {
      if (!graph.alive(id)) continue;
      const auto& outputs = graph.node(id).outputs;
      const bool read = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
        return output != kNoValue && graph.used_outside(output, {});
      });
      if (read) continue;
      graph.remove_node(id);
      removed = true;
    }
  }
}

}  // namespace hone::change
