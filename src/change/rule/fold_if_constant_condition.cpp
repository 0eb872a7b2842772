// If(constant) { then } { else }   ==>   the branch that is taken, in place of the If
//
// Exporters leave such Ifs where the condition was about a shape or a flag known at export. Safe: the other branch
// never runs; the values and nodes of the branch get names that no other has. Pays: an If hides its branch from every
// optimizer of the engine. All opsets. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::NodeId;

class FoldIfConstantCondition final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fold-if-constant-condition",
                                "If(constant) { then } { else }",
                                "the branch that is taken",
                                "the condition is a constant",
                                "small_kernels",
                                accuracy::Class::kExact,
                                true};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const model::Node& node = graph.node(root);
    if (!node.is("If")) return Match::no();
    const std::optional<double> condition = scalar_constant(graph, node.input(0));
    if (!condition)
      return Match::refused(fmt::format("the condition {} of {} is not a constant",
                                        describe_value(graph, node.input(0)), describe(graph, root)));
    const std::shared_ptr<Graph> body = branch(graph, root, *condition != 0);
    if (body == nullptr || body->outputs().size() != node.outputs.size()) return Match::no();
    if (!graph.can_inline(*body))
      return Match::refused(fmt::format("the branch of {} has sparse constants", describe(graph, root)));
    Match match = Match::yes();
    match.nodes = {root};
    match.numbers = {*condition};
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    graph.inline_subgraph(match.nodes[0], *branch(graph, match.nodes[0], match.numbers[0] != 0));
  }

 private:
  static std::shared_ptr<Graph> branch(const Graph& graph, NodeId id, bool taken) {
    const model::Attribute* attribute = graph.node(id).attribute(taken ? "then_branch" : "else_branch");
    const auto* body = attribute == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(attribute);
    return body == nullptr ? nullptr : *body;
  }
};

}  // namespace

const Rule& fold_if_constant_condition() {
  static const FoldIfConstantCondition kRule;
  return kRule;
}

}  // namespace hone::change::rule
