// Clip(x + 3, 0, 6) / 6   ==>   HardSigmoid(x, alpha = 1/6, beta = 0.5)
//
// In general Clip(x + b, 0, h) / h with b = h / 2 is not needed: any b and h > 0 give HardSigmoid(alpha = 1/h, beta =
// b/h). Also with * (1/h) in place of / h. Safe: the same function; (x + 3) / 6 and x / 6 + 0.5 round differently.
// Pays: four passes become one, and ONNX Runtime fuses it into the Conv before it. All opsets (Clip by attribute or
// input). SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/rewrite/hard_activation.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::NodeId;

class FuseHardsigmoid final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fuse-hardsigmoid",
                                "Clip(x + b, 0, h) / h",
                                "HardSigmoid(x, alpha = 1/h, beta = b/h)",
                                "b and h are constants, and nothing else reads what is between",
                                "unfused_activation",
                                accuracy::Class::kReassociating,
                                false};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    static const Pattern x = any("x");
    static const Pattern kPattern = divided_by_height(clipped_sum(x));
    Match match = match_pattern(graph, kPattern, root).to_match();
    if (match.state != Match::State::kYes) return match;
    std::string why = hard_gate_obstacle(graph, match);
    return why.empty() ? match : Match::refused(std::move(why));
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const model::ValueId old = graph.node(match.nodes[0]).output(0), x = match.found.value("x");
    const model::ValueId result = graph.add_value(graph.value(old).name, graph.value(old).type);
    graph.add_node(hard_sigmoid(match, x, result));
    replace_match(graph, match.nodes, old, result);
  }
};

}  // namespace

const Rule& fuse_hardsigmoid() {
  static const FuseHardsigmoid kRule;
  return kRule;
}

}  // namespace hone::change::rule
