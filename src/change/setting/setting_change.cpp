// SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hone::change {

std::vector<Proposal> SettingChange::propose(const Context& context, std::string* why_not) const {
  if (!engine_.empty() && context.best.engine != engine_) {
    *why_not = fmt::format("a setting of {}; the engine is {}", engine_, context.best.engine);
    return {};
  }
  std::vector<Proposal> proposals = propose_(context, why_not);
  std::erase_if(proposals, [&](const Proposal& p) {
    return std::all_of(p.params.begin(), p.params.end(),
                       [&](const auto& param) { return setting_of(context.best, param.first) == param.second; });
  });
  if (proposals.empty() && why_not->empty()) *why_not = "already set";
  for (Proposal& p : proposals) {
    p.change = info_.id;
    p.accuracy = std::max(p.accuracy, info_.accuracy);
    for (const std::string& id : info_.findings)
      if (p.finding.empty() && context.diagnosis.find(id) != nullptr) p.finding = id;
  }
  return proposals;
}

Result<Applied> SettingChange::apply(const Proposal& proposal, const Context& context, const fs::path&) const {
  Applied applied;
  applied.configuration = context.best;
  for (const auto& [id, value] : proposal.params) applied.configuration.settings[id] = value;
  const engine::Engine* engine = HONE_TRY(engine::find_engine(applied.configuration.engine));
  HONE_TRY(engine::validate(*engine, applied.configuration.settings));
  applied.patch = settings_diff(context.best, applied.configuration);
  applied.summary = proposal.key();
  applied.export_log = "settings only, the model is unchanged\n" + applied.patch;
  return applied;
}

Proposal set(std::string id, std::string value, std::string hypothesis, Expectation expectation) {
  Proposal p;
  p.params[std::move(id)] = std::move(value);
  p.hypothesis = std::move(hypothesis);
  p.predicted = expectation.predicted;
  p.upper_bound = std::max(expectation.upper_bound, expectation.predicted);
  p.chance = expectation.chance;
  return p;
}

std::string setting_of(const engine::Configuration& configuration, const std::string& id) {
  auto found = configuration.settings.find(id);
  return found == configuration.settings.end() ? std::string() : found->second;
}

std::string settings_diff(const engine::Configuration& before, const engine::Configuration& after) {
  std::string out;
  if (before.engine != after.engine) out += fmt::format("-engine={}\n+engine={}\n", before.engine, after.engine);
  std::set<std::string> ids;
  for (const auto& [id, value] : before.settings) ids.insert(id);
  for (const auto& [id, value] : after.settings) ids.insert(id);
  for (const std::string& id : ids) {
    const std::string old_value = setting_of(before, id), new_value = setting_of(after, id);
    if (old_value == new_value) continue;
    if (!old_value.empty()) out += fmt::format("-{}={}\n", id, old_value);
    if (!new_value.empty()) out += fmt::format("+{}={}\n", id, new_value);
  }
  return out;
}

}  // namespace hone::change
