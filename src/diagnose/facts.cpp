// SPDX-License-Identifier: Apache-2.0
// What findings share (facts.h).
#include "diagnose/facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::diagnose {

double Facts::own_ms(const NodeRef& node) const {
  const auto found = own_rows.find(node);
  if (found == own_rows.end()) return 0;
  double sum = 0;
  for (size_t row : found->second) sum += ms(row);
  return sum;
}

double Facts::own_ms(const std::vector<NodeRef>& nodes) const {
  double sum = 0;
  for (const NodeRef& node : nodes) sum += own_ms(node);
  return sum;
}

double Facts::speedup_when_saved(double saved) const {
  constexpr double kMost = 100;
  const double rest = diagnosis.latency_ms - saved;
  if (saved <= 0 || diagnosis.latency_ms <= 0) return 1;
  return rest <= diagnosis.latency_ms / kMost ? kMost : diagnosis.latency_ms / rest;
}

double Facts::class_ms(OperatorClass klass) const {
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].klass == klass) sum += ms(i);
  return sum;
}

Priority priority_of(double upper_bound) {
  return upper_bound >= 1.25 ? Priority::kP0 : upper_bound >= 1.08 ? Priority::kP1 : Priority::kP2;
}

Finding make_finding(std::string_view id, const Facts& facts, Observation observation) {
  Finding finding;
  finding.id = id;
  for (const FindingInfo& info : all_findings())
    if (info.id == id) finding.title = info.title;
  finding.evidence = std::move(observation.evidence);
  finding.direction = std::move(observation.direction);
  finding.share = facts.share(observation.part_ms);
  finding.upper_bound = facts.speedup_when_saved(observation.saved_ms);
  finding.priority = priority_of(finding.upper_bound);
  finding.nodes = std::move(observation.nodes);
  return finding;
}

std::vector<std::string> labels_of(const std::vector<NodeRef>& nodes) {
  constexpr size_t kShown = 10;
  std::vector<std::string> labels;
  for (const NodeRef& node : nodes) {
    if (labels.size() == kShown) {
      labels.push_back(fmt::format("and {} more", nodes.size() - kShown));
      break;
    }
    labels.push_back(node.label());
  }
  return labels;
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

}  // namespace hone::diagnose
