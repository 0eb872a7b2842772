// Transpose(Transpose(x, p), q)   ==>   Transpose(x, q after p), or x when that changes nothing
//
// Safe: moving data twice is moving it once; the bits are the same. Pays: one pass over the memory less. The first
// Transpose stays for its other readers. All opsets.
// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::NodeId;

// The attribute, or the reversal it stands for when it is absent; nullopt when the rank is not known.
std::optional<std::vector<int64_t>> permutation(const Graph& graph, NodeId id) {
  if (auto perm = graph.node(id).attribute_ints("perm")) return perm;
  const int rank = rank_of(graph, graph.node(id).input(0));
  if (rank < 0) return std::nullopt;
  std::vector<int64_t> perm;
  for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
  return perm;
}

class MergeTransposes final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"merge-transposes",
                                "Transpose(Transpose(x, p), q)",
                                "Transpose(x, q of p), or x",
                                "the rank is known",
                                "side_effect_ops",
                                accuracy::Class::kExact,
                                true};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    static const Pattern kPattern =
        op("Transpose", {op("Transpose", {any("x")}).named("first").may_be_read_elsewhere()});
    Match match = match_pattern(graph, kPattern, root).to_match();
    if (match.state != Match::State::kYes) return match;
    const auto first = permutation(graph, match.found.node("first")), second = permutation(graph, root);
    if (!first || !second || first->size() != second->size())
      return Match::refused("the rank of " + describe_value(graph, match.found.value("x")) + " is not known");
    match.nodes = {root, match.found.node("first")};
    for (const int64_t axis : *second)
      match.numbers.push_back(static_cast<double>((*first)[static_cast<size_t>(axis)]));
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const std::vector<int64_t> perm(match.numbers.begin(), match.numbers.end());
    const model::ValueId old = graph.node(match.nodes[0]).output(0), x = match.found.value("x");
    bool changes = false;
    for (size_t i = 0; i < perm.size(); ++i) changes = changes || perm[i] != static_cast<int64_t>(i);
    if (!changes && can_replace(graph, old, x)) {
      replace_match(graph, match.nodes, old, x);
      return;
    }
    const model::ValueId result = graph.add_value(graph.value(old).name, graph.value(old).type);
    graph.add_node({.op_type = "Transpose",
                    .inputs = {x},
                    .outputs = {result},
                    .attributes = {{"perm", perm}},
                    .name = graph.node(match.nodes[0]).name});
    replace_match(graph, match.nodes, old, result);
  }
};

}  // namespace

const Rule& merge_transposes() {
  static const MergeTransposes kRule;
  return kRule;
}

}  // namespace hone::change::rule
