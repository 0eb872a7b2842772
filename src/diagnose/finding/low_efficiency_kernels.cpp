// low_efficiency_kernels: the dominant class of compute kernels is far below its roof: another engine, layout, number
// of threads or shape may do better. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "diagnose/dominant.h"

namespace hone::diagnose::finding {

std::optional<Finding> low_efficiency_kernels(const Facts& facts) {
  constexpr double kShare = 0.30, kEfficiency = 0.5;  // own choices
  constexpr double kReachable = 0.8;                  // what good kernels reach of a measured peak (own choice)
  const auto dominant = dominant_class(facts);
  if (!dominant || facts.share(dominant->ms) < kShare || dominant->efficiency() >= kEfficiency) return std::nullopt;
  Observation seen;
  seen.part_ms = dominant->ms;
  std::vector<std::pair<double, NodeRef>> wasted;
  for (size_t row : dominant->rows) {
    const OperatorTime& time = facts.diagnosis.operators[row];
    const double saved = std::max(0.0, time.ms - time.roof_ms / kReachable);
    seen.saved_ms += saved;
    if (saved > 0 && facts.rows[row].mapped.root) wasted.emplace_back(saved, facts.rows[row].mapped.root);
  }
  std::stable_sort(wasted.begin(), wasted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<NodeRef> nodes;
  for (const auto& [saved, node] : wasted) nodes.push_back(node);
  seen.evidence = describe(*dominant, facts);
  seen.direction = "another engine, layout or number of threads; merge small products; fixed shapes";
  seen.nodes = labels_of(nodes);
  return make_finding("low_efficiency_kernels", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
