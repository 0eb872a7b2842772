// dynamic_shapes_fixed_data: the model's inputs have free dimensions while every sample has the same shape.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "diagnose/shape_arithmetic.h"

namespace hone::diagnose::finding {

std::optional<Finding> dynamic_shapes_fixed_data(const Facts& facts) {
  const std::vector<std::string> names = free_inputs(facts.graph);
  if (names.empty()) return std::nullopt;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    const auto shape = facts.conditions.shapes.find(name);
    if (shape == facts.conditions.shapes.end()) return std::nullopt;  // not all data has one shape
    shown.push_back(fmt::format("{} is always [{}]", name, fmt::join(shape->second, ",")));
  }
  const std::vector<NodeRef> nodes = shape_arithmetic(facts);
  Observation seen;
  // What else known shapes let an engine do (plan memory, choose kernels ahead) is not to be seen in a profile.
  seen.part_ms = seen.saved_ms = shape_arithmetic_ms(facts, nodes);
  seen.evidence =
      fmt::format("{} (protocol); {} nodes compute shapes and take {:.3f} ms, {} of the latency (profile, graph)",
                  fmt::join(shown, "; "), nodes.size(), seen.part_ms, percent(facts.share(seen.part_ms)));
  seen.direction = "freeze the shapes";
  seen.nodes = labels_of(nodes);
  return make_finding("dynamic_shapes_fixed_data", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
