// a node nobody reads   ==>   nothing   (and what only it read, and initializers nobody reads)
//
// Safe: ONNX operators have no side effects; a graph output counts as a reader, and so does a subgraph.
// The driver also removes what its rules leave behind; this rule is for what was dead in the file. All opsets.
// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/rule.h"
#include "change/rewrite/structure.h"

namespace hone::change::rule {
namespace {

class RemoveDeadNodes final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"remove-dead-nodes",
                                "a node whose outputs nobody reads",
                                "nothing",
                                "always",
                                "small_kernels",
                                accuracy::Class::kExact,
                                true};
    return kInfo;
  }

  bool whole_graph() const override { return true; }

  Match match(const model::Graph& graph, model::NodeId /*root*/) const override {
    Match match;
    match.nodes = dead_nodes(graph);
    if (match.nodes.empty()) return Match::no();
    match.state = Match::State::kYes;
    for (const model::NodeId id : match.nodes) match.sites.push_back(graph.node(id).label(graph));
    return match;
  }

  void rewrite(model::Graph& graph, const Match& match) const override {
    for (const model::NodeId id : match.nodes) graph.remove_node(id);
    graph.remove_unused_values();
  }
};

}  // namespace

const Rule& remove_dead_nodes() {
  static const RemoveDeadNodes kRule;
  return kRule;
}

}  // namespace hone::change::rule
