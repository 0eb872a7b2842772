// Reshape(f(x), s)   ==>   Reshape(x, s)   [f only reshapes; s is constant and copies no dim of f(x) that is not known]
// g(f(x))            ==>   x               [f and g only reshape, and x has the shape of the result]
//
// f and g: Reshape, Flatten, Squeeze, Unsqueeze. Safe: they keep the order of elements, so only the last shape counts.
// A 0 in s copies a dim of f(x), not of x: it is written as its number, or the rule refuses. f(x) must be the *data* of
// the second Reshape; as its shape operand it is left alone. f stays for its other readers. All opsets.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;
using model::ValueId;

bool only_reshapes(const Node& node) {
  static constexpr std::array kTypes = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  return node.domain.empty() && std::find(kTypes.begin(), kTypes.end(), node.op_type) != kTypes.end();
}

class MergeReshapes final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"merge-reshapes",
                                "Reshape(f(x), s), f one of Reshape, Flatten, Squeeze, Unsqueeze",
                                "Reshape(x, s), or x when the shape is x's",
                                "s is constant and its zeros copy known dims",
                                "side_effect_ops",
                                accuracy::Class::kExact,
                                false};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& node = graph.node(root);
    const Node* first = only_reshapes(node) ? graph.producer(node.input(0)) : nullptr;
    if (first == nullptr || !only_reshapes(*first)) return Match::no();
    const NodeId first_id = graph.value(node.input(0)).producer;
    const ValueId x = first->input(0);
    Match match = Match::yes();
    match.nodes = {root, first_id};
    match.values = {x};
    if (same_shape(graph, x, node.output(0)) && can_replace(graph, node.output(0), x)) return match;
    if (node.op_type != "Reshape") return Match::no();
    std::optional<std::vector<int64_t>> target = node.attribute_ints("shape");
    if (!target) target = int_constants(graph, node.input(1));
    if (!target) return Match::refused(fmt::format("the shape of {} is not constant", describe(graph, root)));
    if (node.attribute_int("allowzero", 0) == 0) {
      const std::string why = write_out_zeros(graph, node, *target);
      if (!why.empty()) return Match::refused(why);
    }
    match.numbers.assign(target->begin(), target->end());
    match.values.push_back(node.output(0));
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const Node& node = graph.node(match.nodes[0]);
    const ValueId old = node.output(0), x = match.values[0];
    if (match.values.size() == 1) {
      replace_match(graph, match.nodes, old, x);
      return;
    }
    std::vector<int64_t> target(match.numbers.begin(), match.numbers.end());
    model::NodeSpec spec{.op_type = "Reshape", .inputs = {x}, .outputs = {}, .name = node.name};
    if (graph.opset() >= 5) {
      const auto rank = static_cast<int64_t>(target.size());
      spec.inputs.push_back(graph.add_constant("shape", model::Tensor::of<int64_t>({rank}, target)));
      // A zero is left only where the node said that zeros are zeros.
      if (std::find(target.begin(), target.end(), 0) != target.end()) spec.attributes = {{"allowzero", int64_t{1}}};
    } else {
      spec.attributes = {{"shape", target}};
    }
    const ValueId result = graph.add_value(graph.value(old).name, graph.value(old).type);
    spec.outputs = {result};
    graph.add_node(std::move(spec));
    replace_match(graph, match.nodes, old, result);
  }

 private:
  // Replaces zeros by the dims they copy; a sentence when one is not known.
  static std::string write_out_zeros(const Graph& graph, const Node& node, std::vector<int64_t>& target) {
    const model::Type& between = graph.value(node.input(0)).type;
    for (size_t i = 0; i < target.size(); ++i) {
      if (target[i] != 0) continue;
      const bool known = between.shape && i < between.shape->size() && (*between.shape)[i].value > 0;
      if (!known)
        return fmt::format("the shape of Reshape '{}' copies dim {} of {}, which is not a number",
                           graph.value(node.output(0)).name, i, describe_value(graph, node.input(0)));
      target[i] = (*between.shape)[i].value;
    }
    return {};
  }
};

}  // namespace

const Rule& merge_reshapes() {
  static const MergeReshapes kRule;
  return kRule;
}

}  // namespace hone::change::rule
