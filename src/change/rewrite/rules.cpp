// The list of all rules, from rules.def.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "change/rewrite/rule.h"

namespace hone::change {
namespace rule {
#define HONE_RULE(name) const Rule& name();
#include "change/rewrite/rules.def"
#undef HONE_RULE
}  // namespace rule

const std::vector<const Rule*>& all_rules() {
  static const std::vector<const Rule*> rules = {
#define HONE_RULE(name) &rule::name(),
#include "change/rewrite/rules.def"
#undef HONE_RULE
  };
  return rules;
}

std::vector<const Rule*> rules_for(std::string_view engine) {
  std::vector<const Rule*> rules;
  for (const Rule* rule : all_rules()) {
    const RuleInfo& info = rule->info();
    if (info.only_when_named.empty() && (info.engine.empty() || info.engine == engine)) rules.push_back(rule);
  }
  return rules;
}

std::vector<std::string> findings_of(const std::vector<const Rule*>& rules) {
  std::vector<std::string> findings;
  for (const Rule* rule : rules) {
    const std::string_view finding = rule->info().finding;
    if (std::find(findings.begin(), findings.end(), finding) == findings.end()) findings.emplace_back(finding);
  }
  return findings;
}

Result<const Rule*> find_rule(std::string_view id) {
  std::string known;
  for (const Rule* rule : all_rules()) {
    if (rule->info().id == id) return rule;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", rule->info().id);
  }
  return fail(usage_error(fmt::format("no rewrite is called {}", id), {}, "known are: " + known));
}

namespace {

template <class Map>
const auto& bound(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  HONE_CHECK(found != map.end(), "the pattern binds no '{}'", name);
  return found->second;
}

}  // namespace

model::ValueId Bindings::value(std::string_view name) const { return bound(values, name); }
model::NodeId Bindings::node(std::string_view name) const { return bound(nodes, name); }
double Bindings::number(std::string_view name) const { return bound(numbers, name); }
bool Bindings::has(std::string_view name) const {
  return values.contains(name) || nodes.contains(name) || numbers.contains(name);
}

}  // namespace hone::change
