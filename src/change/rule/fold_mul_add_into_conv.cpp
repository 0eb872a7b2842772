// Conv(x, W, b) * c   ==>   Conv(x, W * c, b * c)       Conv(x, W, b) + c   ==>   Conv(x, W, b + c)
//
// Also / c and - c, and ConvTranspose. c is one number or one per output channel, [1, M, 1, 1] or without leading ones.
// Safe: a convolution is linear in W and b; the Conv's result and weight have no other reader. Rounding differs.
// Pays: one pass over the feature map less; ONNX Runtime itself folds constants of
// some shapes only, and no plain numbers. Before opset 7 (broadcasting by attribute) it does not apply.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "change/rewrite/pattern.h"
#include "change/rewrite/scale.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoNode;
using model::Node;
using model::NodeId;

class FoldMulAddIntoConv final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fold-mul-add-into-conv",
                                "Conv(x, W, b) * c, / c, + c, - c",
                                "Conv(x, W * c, b * c), Conv(x, W, b + c)",
                                "c is a number, or one per output channel; nothing else reads the Conv or its weight",
                                "unfused_batchnorm",
                                accuracy::Class::kReassociating,
                                false};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& node = graph.node(root);
    const bool commutes = node.is("Mul") || node.is("Add");
    if (!(commutes || node.is("Div") || node.is("Sub")) || graph.opset() < 7) return Match::no();
    for (const size_t slot : commutes ? std::vector<size_t>{0, 1} : std::vector<size_t>{0}) {
      const model::Tensor* constant = graph.constant(node.input(1 - slot));
      if (constant == nullptr) continue;
      const FoldableConv conv = foldable_conv(graph, node.input(slot));
      if (conv.node == kNoNode) continue;
      if (!conv.why.empty()) return Match::refused(conv.why);
      return folded(graph, root, conv, *constant);
    }
    return Match::no();
  }

  void rewrite(Graph& graph, const Match& match) const override {
    ChannelScale change;
    for (size_t i = 0; i < match.numbers.size(); i += 2) {
      change.scale.push_back(match.numbers[i]);
      change.shift.push_back(match.numbers[i + 1]);
    }
    scale_conv(graph, match.nodes[1], change);
    const model::ValueId old = graph.node(match.nodes[0]).output(0), conv = graph.node(match.nodes[1]).output(0);
    replace_match(graph, {match.nodes[0]}, old, conv);
  }

 private:
  static Match folded(const Graph& graph, NodeId root, const FoldableConv& conv, const model::Tensor& constant) {
    const Node& node = graph.node(root);
    const auto rank = static_cast<int>(graph.constant(graph.node(conv.node).input(1))->rank());
    const auto values = per_channel(constant, conv.channels, rank);
    if (!values)
      return Match::refused(
          fmt::format("the constant of {} has the shape [{}], expected one number or one per output channel",
                      describe(graph, root), fmt::join(constant.dims(), ",")));
    Match match = Match::yes();
    match.nodes = {root, conv.node};
    for (const double value : *values) {
      if (!std::isfinite(value) || (node.is("Div") && value == 0))
        return Match::refused(fmt::format("the constant of {} holds {}", describe(graph, root), value));
      const double scale = node.is("Mul") ? value : node.is("Div") ? 1 / value : 1;
      const double shift = node.is("Add") ? value : node.is("Sub") ? -value : 0;
      match.numbers.insert(match.numbers.end(), {scale, shift});
    }
    return match;
  }
};

}  // namespace

const Rule& fold_mul_add_into_conv() {
  static const FoldMulAddIntoConv kRule;
  return kRule;
}

}  // namespace hone::change::rule
