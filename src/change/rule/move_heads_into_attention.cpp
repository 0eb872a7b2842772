// Attention(Transpose(q), Transpose(k), Transpose(v)) -> Transpose    ==>   Attention(q, k, v, q_num_heads,
// kv_num_heads)
//
// The operator takes [B,S,N·D] too and splits the heads itself, reading them where they lie: no copies. torch's
// exporter writes [B,N,S,D] with Transposes around (opset 23).
//
// Safe: the same numbers; only their layout changes.
// Pays: ONNX Runtime 1.32, one thread of an Intel Xeon (Sapphire Rapids), operator with its Transposes against operator
// with heads inside: 1.3-1.75x at 16..128 tokens, 1.1-1.25x at 384..1024, 2.4x at 1 x 128 (decoding).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/rewrite/attention.h"
#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

class MoveHeadsIntoAttention final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"move-heads-into-attention",
                                "Transpose(Attention(Transpose(q), Transpose(k), Transpose(v)))",
                                "Attention(q, k, v) with q_num_heads and kv_num_heads",
                                "no past or present; the number of heads is known",
                                "side_effect_ops",
                                accuracy::Class::kReassociating,
                                false};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& node = graph.node(root);
    if (!node.is("Attention") || node.attribute("q_num_heads") != nullptr) return Match::no();
    for (size_t slot = 4; slot < node.inputs.size(); ++slot)
      if (node.inputs[slot] != kNoValue) return Match::refused(fmt::format("{} has a past", describe(graph, root)));
    for (size_t slot = 1; slot < node.outputs.size(); ++slot)
      if (node.outputs[slot] != kNoValue && graph.used_outside(node.outputs[slot], {}))
        return Match::refused(fmt::format("output {} of {} is read", slot, describe(graph, root)));
    Dims dims(graph);
    for (const size_t slot : {0, 1, 2})
      if (!can_merge_heads(graph, dims, {node.input(slot)}))
        return Match::refused(fmt::format("input {} of {} is {}, not a Transpose [0,2,1,3]", slot,
                                          describe(graph, root), describe_value(graph, node.input(slot))));
    const NodeId reader = graph.only_user(node.output(0));
    if (reader == model::kNoNode || !graph.node(reader).is("Transpose") ||
        graph.node(reader).attribute_ints("perm") != std::vector<int64_t>{0, 2, 1, 3})
      return Match::refused(fmt::format("the result of {} is not only transposed back", describe(graph, root)));
    const KnownDim heads = dims.dim(node.input(0), 1), key_heads = dims.dim(node.input(1), 1);
    if (!heads.is_number || !key_heads.is_number || heads.value <= 0 || key_heads.value <= 0)
      return Match::refused(fmt::format("the number of heads of {} is not known", describe(graph, root)));
    for (const size_t slot : {0, 1, 2})
      if (!dims.dim(node.input(slot), 3).is_number)
        return Match::refused(fmt::format("the head size of {} is not known", describe_value(graph, node.input(slot))));
    Match match = Match::yes();
    match.nodes = {root};
    match.values = {node.output(0)};
    match.numbers = {static_cast<double>(heads.value), static_cast<double>(key_heads.value)};
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    Dims dims(graph);
    const NodeId root = match.nodes[0];
    const ValueId result = match.values[0];
    const auto heads = static_cast<int64_t>(match.numbers[0]), key_heads = static_cast<int64_t>(match.numbers[1]);
    const ValueId out = graph.add_value(graph.value(result).name + "_merged",
                                        model::Type::tensor(dtype_of_value(graph, result), model::Shape(3)));
    model::NodeSpec node{.op_type = "Attention", .outputs = {out}};
    for (const size_t slot : {0, 1, 2}) {
      const ValueId input = graph.node(root).input(slot);
      const int64_t width = dims.dim(input, 3).value * (slot == 0 ? heads : key_heads);
      node.inputs.push_back(merged_heads(graph, dims, {input}, width));
    }
    if (graph.node(root).input(3) != kNoValue) node.inputs.push_back(graph.node(root).input(3));
    node.attributes = graph.node(root).attributes;
    node.attributes.emplace_back("q_num_heads", heads);
    node.attributes.emplace_back("kv_num_heads", key_heads);
    graph.add_node(std::move(node));
    replace_with_merged(graph, dims, result, out, heads);
    remove_unread(graph, {root});
  }
};

}  // namespace

const Rule& move_heads_into_attention() {
  static const MoveHeadsIntoAttention kRule;
  return kRule;
}

}  // namespace hone::change::rule
