// x * Clip(x + 3, 0, 6) / 6   ==>   HardSwish(x)    [opset >= 14; before: x * HardSigmoid(x, 1/6, 0.5)]
// x * HardSigmoid(x, 1/6, 0.5)  ==>   HardSwish(x)    [opset >= 14]
//
// The division (or a multiplication by 1/6) stands after the product or before it. Safe: the definition of HardSwish;
// rounding differs. Pays: ONNX Runtime fuses either result into the Conv before it, and never the four nodes:
// PaddleOCR's models have 24 to 28 of these chains (with fold-mul-add-into-conv: detection 1.2 x on one core).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/rewrite/hard_activation.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::NodeId;

constexpr int64_t kHardSwishOpset = 14;

// The HardSwish's own numbers, whatever operators they come from.
std::string not_hardswish(double alpha, double beta) {
  if (near(alpha, 1.0 / 6) && near(beta, 0.5)) return {};
  return fmt::format("the gate is x * {:g} + {:g}, HardSwish has x / 6 + 0.5", alpha, beta);
}

class FuseHardswish final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fuse-hardswish",
                                "x * Clip(x + 3, 0, 6) / 6; x * HardSigmoid(x, 1/6, 0.5)",
                                "HardSwish(x); before opset 14 x * HardSigmoid(x)",
                                "nothing else reads what is between",
                                "unfused_activation",
                                accuracy::Class::kReassociating,
                                false};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    static const Pattern x = any("x");
    static const Pattern kChain =
        one_of({divided_by_height(op("Mul", {x, clipped_sum(x)})), op("Mul", {x, divided_by_height(clipped_sum(x))})});
    static const Pattern kGate = op("Mul", {x, op("HardSigmoid", {x}).named("gate").anchor()});
    if (graph.opset() >= kHardSwishOpset) {
      Match gate = match_pattern(graph, kGate, root).to_match();
      if (gate.state == Match::State::kRefused) return gate;
      if (gate.state == Match::State::kYes) {
        const model::Node& node = graph.node(gate.found.node("gate"));
        std::string why = not_hardswish(node.attribute_float("alpha", 0.2F), node.attribute_float("beta", 0.5F));
        return why.empty() ? gate : Match::refused(std::move(why));
      }
    }
    Match match = match_pattern(graph, kChain, root).to_match();
    if (match.state != Match::State::kYes) return match;
    std::string why = hard_gate_obstacle(graph, match);
    if (why.empty()) why = not_hardswish(1 / match.numbers[0], match.found.number("shift") / match.numbers[0]);
    return why.empty() ? match : Match::refused(std::move(why));
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const model::ValueId old = graph.node(match.nodes[0]).output(0), x = match.found.value("x");
    const model::Type type = graph.value(old).type;
    const model::ValueId result = graph.add_value(graph.value(old).name, type);
    if (graph.opset() >= kHardSwishOpset) {
      graph.add_node({.op_type = "HardSwish", .inputs = {x}, .outputs = {result}});
    } else {
      const model::ValueId gate = graph.add_value(graph.value(old).name + "_gate", type);
      graph.add_node(hard_sigmoid(match, x, gate));
      graph.add_node({.op_type = "Mul", .inputs = {x, gate}, .outputs = {result}});
    }
    replace_match(graph, match.nodes, old, result);
  }
};

}  // namespace

const Rule& fuse_hardswish() {
  static const FuseHardswish kRule;
  return kRule;
}

}  // namespace hone::change::rule
