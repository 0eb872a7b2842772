// BatchNormalization(Conv(x, W, b), scale, bias, mean, var)   ==>   Conv(x, W', b')
//   W' = W * k per output channel, b' = (b - mean) * k + bias, with k = scale / sqrt(var + epsilon)
//
// ConvTranspose too. Safe: inference statistics are constants, and a convolution is linear in W; the Conv's result and
// its weight must have no other reader. Rounding differs: the weights are computed in double and rounded once. Pays:
// one pass over the feature map less. All opsets (before 7: only with is_test = 1). SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "change/rewrite/pattern.h"
#include "change/rewrite/scale.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoNode;
using model::kNoValue;
using model::Node;
using model::NodeId;

// Why the node does not run on fixed statistics; empty when it does.
std::string training(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool trains =
      graph.opset() < 7 ? node.attribute_int("is_test", 0) == 0 : node.attribute_int("training_mode", 0) != 0;
  if (trains) return fmt::format("{} is in training mode", describe(graph, id));
  if (graph.opset() < 9 && node.attribute_int("spatial", 1) == 0)
    return fmt::format("{} has statistics per pixel", describe(graph, id));
  for (size_t slot = 1; slot < node.outputs.size(); ++slot)
    if (node.output(slot) != kNoValue && graph.used_outside(node.output(slot), {}))
      return fmt::format("the statistics of {} are read", describe(graph, id));
  return {};
}

class FoldBnIntoConv final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fold-bn-into-conv",
                                "BatchNormalization(Conv(x, W, b))",
                                "Conv(x, W * k, (b - mean) * k + bias), k = scale / sqrt(var + epsilon)",
                                "constant statistics and weights; nothing else reads the Conv or its weight",
                                "unfused_batchnorm",
                                accuracy::Class::kReassociating,
                                true};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& node = graph.node(root);
    if (!node.is("BatchNormalization") || node.inputs.size() < 5) return Match::no();
    const FoldableConv conv = foldable_conv(graph, node.input(0));
    if (conv.node == kNoNode) return Match::no();
    if (!conv.why.empty()) return Match::refused(conv.why);
    std::string why = training(graph, root);
    if (!why.empty()) return Match::refused(why);
    std::vector<double> statistics[4];
    for (size_t i = 0; i < 4; ++i) {
      const model::Tensor* tensor = graph.constant(node.input(i + 1));
      if (tensor == nullptr || tensor->count() != conv.channels)
        return Match::refused(fmt::format("input {} of {} is not a constant of {} elements", i + 1,
                                          describe(graph, root), conv.channels));
      Result<std::vector<double>> values = tensor->to_doubles();
      if (!values) return Match::refused(values.error().line());
      statistics[i] = std::move(*values);
    }
    Match match = Match::yes();
    match.nodes = {root, conv.node};
    const double epsilon = node.attribute_float("epsilon", 1e-5F);
    for (size_t c = 0; c < statistics[0].size(); ++c) {
      const double k = statistics[0][c] / std::sqrt(statistics[3][c] + epsilon);
      if (!std::isfinite(k))
        return Match::refused(
            fmt::format("the variance of channel {} of {} is not positive", c, describe(graph, root)));
      match.numbers.push_back(k);
      match.numbers.push_back(statistics[1][c] - statistics[2][c] * k);
    }
    return match;
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
};

}  // namespace

const Rule& fold_bn_into_conv() {
  static const FoldBnIntoConv kRule;
  return kRule;
}

}  // namespace hone::change::rule
