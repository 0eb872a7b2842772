// SettingChange: a Change that sets engine settings and touches no model. A lever's own file says what it proposes;
// this applies it. The parameters of a proposal are the settings themselves ("intra_op_threads" -> "1"), so the key of
// a trial, its settings.json and its patch all speak the same words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "change/change.h"

namespace hone::change {

class SettingChange final : public Change {
 public:
  using Propose = std::function<std::vector<Proposal>(const Context&, std::string* why_not)>;
  // `engine`: the only engine that has the setting; empty = every engine.
  SettingChange(ChangeInfo info, std::string engine, Propose propose)
      : info_(std::move(info)), engine_(std::move(engine)), propose_(std::move(propose)) {}
  const ChangeInfo& info() const override { return info_; }
  std::vector<Proposal> propose(const Context& context, std::string* why_not) const override;
  Result<Applied> apply(const Proposal& proposal, const Context& context, const fs::path& folder) const override;

 private:
  ChangeInfo info_;
  std::string engine_;
  Propose propose_;
};

// What a lever expects of one value of a setting.
struct Expectation {
  double predicted = 1.0, upper_bound = 1.03, chance = 0.1;
};
Proposal set(std::string id, std::string value, std::string hypothesis, Expectation expectation);

// The value a setting has in a Configuration, or "" when the engine's default holds.
std::string setting_of(const engine::Configuration& configuration, const std::string& id);
// What differs between two Configurations' settings and engine, as a small text diff.
std::string settings_diff(const engine::Configuration& before, const engine::Configuration& after);

}  // namespace hone::change
