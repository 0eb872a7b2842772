// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/skip_norm.h"

#include <fmt/format.h>

#include "change/rewrite/dims.h"
#include "change/rewrite/pattern.h"

namespace hone::change {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

Match match_skip_norm(const Graph& graph, NodeId norm) {
  const Node& node = graph.node(norm);
  const ValueId sum = node.input(0);
  const Node* add = sum == kNoValue ? nullptr : graph.producer(sum);
  if (add == nullptr || !add->is("Add")) return Match::no();
  for (size_t slot = 1; slot < node.outputs.size(); ++slot)
    if (node.outputs[slot] != kNoValue && graph.used_outside(node.outputs[slot], {}))
      return Match::refused(fmt::format("output {} of {} is read", slot, describe(graph, norm)));
  Dims dims(graph);
  const auto shape = dims.shape(sum), x = dims.shape(add->input(0)), skip = dims.shape(add->input(1));
  if (!shape || !x || !skip || !same(*x, *skip))
    return Match::refused(
        fmt::format("the two parts of {} are not proven to have the same shape", describe_value(graph, sum)));
  const int64_t axis = node.attribute_int("axis", -1);
  if (axis != -1 && axis != static_cast<int64_t>(shape->size()) - 1)
    return Match::refused(fmt::format("{} is not over the last axis only", describe(graph, norm)));
  if (shape->size() != 2 && shape->size() != 3)
    return Match::refused(
        fmt::format("{} has rank {}, the operator takes 2 or 3", describe_value(graph, sum), shape->size()));
  if (dtype_of_value(graph, sum) != model::DType::kFloat)
    return Match::refused(fmt::format("{} is not float32", describe_value(graph, sum)));
  if (rank_of(graph, node.input(1)) != 1)
    return Match::refused(fmt::format("the scale {} has not rank 1", describe_value(graph, node.input(1))));
  Match match = Match::yes();
  match.nodes = {norm, graph.value(sum).producer};
  return match;
}

void replace_skip_norm(Graph& graph, const Match& match, std::string op) {
  const Node &norm = graph.node(match.nodes[0]), &add = graph.node(match.nodes[1]);
  const ValueId result = norm.output(0), sum = add.output(0);
  const bool sum_read = graph.used_outside(sum, {match.nodes[0]});
  graph.import_opset("com.microsoft", 1);
  const ValueId out = graph.add_value(graph.value(result).name + "_norm", graph.value(result).type);
  model::NodeSpec fused{.op_type = std::move(op),
                        .inputs = {add.input(0), add.input(1), norm.input(1)},
                        .outputs = {out},
                        .attributes = {{"epsilon", norm.attribute_float("epsilon", 1e-5F)}},
                        .domain = "com.microsoft"};
  if (norm.input(2) != kNoValue) fused.inputs.push_back(norm.input(2));
  ValueId new_sum = kNoValue;
  if (sum_read) {
    new_sum = graph.add_value(graph.value(sum).name + "_sum", graph.value(sum).type);
    fused.outputs.insert(fused.outputs.end(), {kNoValue, kNoValue, new_sum});
  }
  graph.add_node(std::move(fused));
  replace_match(graph, {match.nodes[0]}, result, out);
  if (sum_read) {
    replace_match(graph, {match.nodes[1]}, sum, new_sum);
  } else if (graph.alive(match.nodes[1])) {
    graph.remove_node(match.nodes[1]);
  }
}

}  // namespace hone::change
