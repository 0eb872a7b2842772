// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/hard_activation.h"

#include <fmt/format.h>

#include <limits>

namespace hone::change {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;

Pattern clipped_sum(const Pattern& x) {
  return op("Clip", {op("Add", {x, scalar("shift")})}).more_inputs().named("clip").anchor();
}

Pattern divided_by_height(const Pattern& value) {
  return one_of({op("Div", {value, scalar("height")}), op("Mul", {value, scalar("inverse")})});
}

namespace {

// A bound of a Clip: its input, or the attribute of old opsets; nullopt when it is not constant.
std::optional<double> clip_bound(const Graph& graph, const Node& clip, size_t slot, const char* attribute, float open) {
  if (clip.input(slot) != kNoValue) return scalar_constant(graph, clip.input(slot));
  return clip.attribute_float(attribute, open);
}

}  // namespace

std::string hard_gate_obstacle(const Graph& graph, Match& match) {
  const NodeId id = match.found.node("clip");
  const Node& clip = graph.node(id);
  constexpr float kOpen = std::numeric_limits<float>::max();
  const auto low = clip_bound(graph, clip, 1, "min", -kOpen), high = clip_bound(graph, clip, 2, "max", kOpen);
  if (!low || !high) return fmt::format("the bounds of {} are not constant", describe(graph, id));
  const double height =
      match.found.numbers.contains("height") ? match.found.number("height") : 1 / match.found.number("inverse");
  if (*low != 0 || !(height > 0) || !near(*high, height))
    return fmt::format("{} goes from {:g} to {:g}, expected 0 to {:g}", describe(graph, id), *low, *high, height);
  const model::DType dtype = dtype_of_value(graph, match.found.value("x"));
  if (dtype != model::DType::kFloat && dtype != model::DType::kFloat16 && dtype != model::DType::kDouble)
    return fmt::format("{} is not of a floating-point type", describe_value(graph, match.found.value("x")));
  // A scalar of a higher rank than x would widen the result.
  for (const char* name : {"shift", "height", "inverse"}) {
    if (!match.found.values.contains(name)) continue;
    const int rank = rank_of(graph, match.found.value(name));
    if (rank > 0 && rank > rank_of(graph, match.found.value("x")))
      return fmt::format("{} has a higher rank than x", describe_value(graph, match.found.value(name)));
  }
  match.numbers = {*high};
  return {};
}

model::NodeSpec hard_sigmoid(const Match& match, model::ValueId x, model::ValueId result) {
  const double height = match.numbers[0];
  return {.op_type = "HardSigmoid",
          .inputs = {x},
          .outputs = {result},
          .attributes = {{"alpha", static_cast<float>(1 / height)},
                         {"beta", static_cast<float>(match.found.number("shift") / height)}}};
}

}  // namespace hone::change
