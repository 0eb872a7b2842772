// side_effect_ops: time in nodes that compute nothing: layout changes, type changes, copies.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "diagnose/facts.h"

namespace hone::diagnose::finding {

std::optional<Finding> side_effect_ops(const Facts& facts) {
  constexpr double kShare = 0.05;  // own choice: half of what the guides for accelerators call too much layout work
  std::map<std::string, std::pair<double, double>> by_type;  // type -> ms, calls
  std::vector<NodeRef> nodes;
  Observation seen;
  for (size_t i = 0; i < facts.rows.size(); ++i) {
    const Row& row = facts.rows[i];
    if (row.klass != OperatorClass::kDataMovement && row.klass != OperatorClass::kQuantize) continue;
    auto& [ms, calls] = by_type[std::string(row.invocation.type)];
    ms += facts.ms(i);
    calls += row.calls;
    seen.part_ms += facts.ms(i);
    if (row.mapped.root && facts.share(facts.ms(i)) >= kWorthMentioning) nodes.push_back(row.mapped.root);
  }
  if (facts.share(seen.part_ms) < kShare) return std::nullopt;
  seen.saved_ms = seen.part_ms;
  std::vector<std::pair<std::string, std::pair<double, double>>> sorted(by_type.begin(), by_type.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(5, sorted.size()); ++i)
    list += fmt::format("{}{} {:.3f} ms ({:.0f} x)", i == 0 ? "" : ", ", sorted[i].first, sorted[i].second.first,
                        sorted[i].second.second);
  seen.evidence = fmt::format("{:.3f} ms, {} of the latency, move or convert data: {} (profile)", seen.part_ms,
                              percent(facts.share(seen.part_ms)), list);
  seen.direction = "remove pairs that undo each other, move them out of chains, another layout or engine";
  seen.nodes = labels_of(nodes);
  return make_finding("side_effect_ops", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
