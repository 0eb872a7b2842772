// Conv(Pad(x, p, 0))   ==>   Conv(x, pads + p)   [zeros, not negative, spatial axes only]
//
// Safe: a Conv pads with zeros itself. A pad of another value, one that crops, or one of batch or channels stays; the
// Pad stays for its other readers (a pool pads with minus infinity, so pools are not touched). Pays: one copy of the
// feature map less. All opsets. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;

// Begins then ends of all axes; nullopt when not constant.
std::optional<std::vector<int64_t>> pads_of(const Graph& graph, const Node& pad, int rank) {
  std::optional<std::vector<int64_t>> pads = pad.attribute_ints("pads");
  if (!pads) pads = int_constants(graph, pad.input(1));
  if (!pads || pad.input(3) == kNoValue) return pads;
  const auto axes = int_constants(graph, pad.input(3));
  if (!axes || pads->size() != 2 * axes->size()) return std::nullopt;
  std::vector<int64_t> all(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return std::nullopt;
    all[static_cast<size_t>(axis)] = (*pads)[i];
    all[static_cast<size_t>(axis + rank)] = (*pads)[i + axes->size()];
  }
  return all;
}

// The first reason why the Conv can't pad like this; empty when it can.
std::string obstacle(const Graph& graph, NodeId pad_id, NodeId conv_id, int rank,
                     const std::optional<std::vector<int64_t>>& pads) {
  const Node &pad = graph.node(pad_id), &conv = graph.node(conv_id);
  const std::string name = describe(graph, pad_id);
  if (pad.attribute_string("mode", "constant") != "constant")
    return fmt::format("{} pads by {}", name, pad.attribute_string("mode", ""));
  double fill = pad.attribute_float("value", 0);
  if (pad.input(2) != kNoValue) {
    const std::optional<double> constant = scalar_constant(graph, pad.input(2));
    if (!constant) return fmt::format("the value {} pads with is not a constant", name);
    fill = *constant;
  }
  if (fill != 0) return fmt::format("{} pads with {:g}, a Conv with 0", name, fill);
  if (!pads || pads->size() != static_cast<size_t>(2 * rank))
    return fmt::format("the pads of {} are not constant", name);
  if (std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p < 0; }))
    return fmt::format("{} crops: its pads are [{}]", name, fmt::join(*pads, ","));
  for (const int axis : {0, 1})
    if ((*pads)[static_cast<size_t>(axis)] != 0 || (*pads)[static_cast<size_t>(axis + rank)] != 0)
      return fmt::format("{} pads axis {}", name, axis);
  const std::string automatic = conv.attribute_string("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID")
    return fmt::format("{} chooses its own padding ({})", describe(graph, conv_id), automatic);
  return {};
}

class MovePadIntoConv final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"move-pad-into-conv",
                                "Conv(Pad(x, p, 0), pads = q)",
                                "Conv(x, pads = p + q)",
                                "p pads spatial axes with zeros and crops nothing",
                                "side_effect_ops",
                                accuracy::Class::kExact,
                                true};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    static const Pattern kPattern =
        op("Conv", {op("Pad", {any("x")}).more_inputs().named("pad").may_be_read_elsewhere()}).more_inputs();
    Match match = match_pattern(graph, kPattern, root).to_match();
    if (match.state != Match::State::kYes) return match;
    const NodeId pad = match.found.node("pad");
    const int rank = rank_of(graph, graph.node(root).input(1));
    if (rank < 3) return Match::refused(fmt::format("the rank of {} is not known", describe(graph, root)));
    const auto pads = pads_of(graph, graph.node(pad), rank);
    std::string why = obstacle(graph, pad, root, rank, pads);
    if (!why.empty()) return Match::refused(std::move(why));
    const auto axes = static_cast<size_t>(rank - 2);
    std::vector<int64_t> sum = graph.node(root).attribute_ints("pads").value_or(std::vector<int64_t>(2 * axes, 0));
    if (graph.node(root).attribute_string("auto_pad", "NOTSET") == "VALID") sum.assign(2 * axes, 0);
    if (sum.size() != 2 * axes) return Match::no();
    for (size_t i = 0; i < axes; ++i) {
      sum[i] += (*pads)[i + 2];
      sum[i + axes] += (*pads)[i + 2 + static_cast<size_t>(rank)];
    }
    match.nodes = {root, pad};
    match.numbers.assign(sum.begin(), sum.end());
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const NodeId conv = match.nodes[0];
    graph.set_input(conv, 0, match.found.value("x"));
    graph.remove_attribute(conv, "auto_pad");
    graph.set_attribute(conv, "pads", std::vector<int64_t>(match.numbers.begin(), match.numbers.end()));
  }
};

}  // namespace

const Rule& move_pad_into_conv() {
  static const MovePadIntoConv kRule;
  return kRule;
}

}  // namespace hone::change::rule
