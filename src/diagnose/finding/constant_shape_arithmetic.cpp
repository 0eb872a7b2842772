// constant_shape_arithmetic: Shape, Gather, Concat, ... that compute in every inference what fixed shapes make
// constant. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "diagnose/shape_arithmetic.h"

namespace hone::diagnose::finding {

std::optional<Finding> constant_shape_arithmetic(const Facts& facts) {
  const bool fixed = !facts.conditions.shapes.empty() || free_inputs(facts.graph).empty();
  const std::vector<NodeRef> nodes = shape_arithmetic(facts);
  Observation seen;
  seen.part_ms = seen.saved_ms = shape_arithmetic_ms(facts, nodes);
  if (!fixed || nodes.empty() || facts.share(seen.part_ms) < kWorthMentioning) return std::nullopt;
  seen.evidence = fmt::format(
      "{} nodes depend on shapes only, and all shapes are fixed here; with their part of the time outside of kernels "
      "they take {:.3f} ms, {} of the latency (profile, graph)",
      nodes.size(), seen.part_ms, percent(facts.share(seen.part_ms)));
  seen.direction = "freeze the shapes and fold constants";
  seen.nodes = labels_of(nodes);
  return make_finding("constant_shape_arithmetic", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
