// SPDX-License-Identifier: Apache-2.0
#include "run/record.h"

#include <algorithm>
#include <array>

namespace hone::run {

namespace {

template <class Enum, size_t N>
Result<Enum> word_to(const char* noun, std::string_view text, const std::array<Enum, N>& all) {
  for (Enum value : all)
    if (to_text(value) == text) return value;
  return fail(bad_input(std::string("unknown ") + noun, std::string(text), "the journal is of another hone version"));
}

// Settings that a change of the engine keeps.
bool of_the_process(const change::Proposal& proposal) {
  return std::all_of(proposal.params.begin(), proposal.params.end(),
                     [](const auto& param) { return param.first.starts_with("process."); });
}

}  // namespace

std::string_view to_text(Stage stage) {
  switch (stage) {
    case Stage::kBaseline:
      return "baseline";
    case Stage::kP0:
      return "P0";
    case Stage::kP1:
      return "P1";
    case Stage::kP2:
      return "P2";
    case Stage::kCombination:
      return "combination";
    case Stage::kFinal:
      break;
  }
  return "final";
}

Result<Stage> stage_from(std::string_view text) {
  return word_to("stage", text,
                 std::array{Stage::kBaseline, Stage::kP0, Stage::kP1, Stage::kP2, Stage::kCombination, Stage::kFinal});
}

std::string_view to_text(State state) {
  switch (state) {
    case State::kCreated:
      return "created";
    case State::kPrepared:
      return "prepared";
    case State::kConverted:
      return "converted";
    case State::kMeasured:
      return "measured";
    case State::kJudged:
      break;
  }
  return "judged";
}

Result<State> state_from(std::string_view text) {
  return word_to("state", text,
                 std::array{State::kCreated, State::kPrepared, State::kConverted, State::kMeasured, State::kJudged});
}

std::string Trial::title() const {
  if (stage == Stage::kBaseline) return "baseline";
  if (stage == Stage::kFinal) return "final";
  return proposal.key();
}

std::string_view Trial::outcome() const {
  if (!verdict) return "-";
  return verdict->noise ? "noise" : verdict::to_text(verdict->kind);
}

const Trial* Record::baseline() const { return trials.empty() ? nullptr : &trials.front(); }

const Trial* Record::final_trial() const {
  return !trials.empty() && trials.back().stage == Stage::kFinal ? &trials.back() : nullptr;
}

const Trial* Record::trial(int number) const {
  auto found = std::find_if(trials.begin(), trials.end(), [&](const Trial& t) { return t.number == number; });
  return found == trials.end() ? nullptr : &*found;
}

const Trial* Record::best() const {
  auto found = std::find_if(trials.rbegin(), trials.rend(), [](const Trial& t) { return t.kept(); });
  return found == trials.rend() ? baseline() : &*found;
}

bool Record::restarts(const Trial& t) const {
  const Trial* parent = trial(t.parent);
  if (t.kind != "engine" || parent == nullptr || t.number <= 0) return false;
  const fs::path& original = baseline()->configuration.model;
  return t.configuration.model == original && parent->configuration.model != original;
}

std::vector<const Trial*> Record::chain(int number) const {
  std::vector<const Trial*> out;
  std::vector<std::string> dropped;
  bool other_engine = false, restarted = false;  // an engine change lies between here and `number`
  for (const Trial* t = trial(number); t != nullptr && t->number > 0; t = trial(t->parent)) {
    if (t->proposal.change == kWithout) {
      dropped.push_back(t->proposal.params.at("change"));
      continue;
    }
    const bool discarded = t->kind == "setting"  ? other_engine && !of_the_process(t->proposal)
                           : t->kind == "engine" ? other_engine
                                                 : restarted;
    // A dropped engine change counts: what it discarded was not there to come back when the ablation removed it.
    other_engine = other_engine || t->kind == "engine";
    restarted = restarted || restarts(*t);
    auto gone = std::find(dropped.begin(), dropped.end(), t->proposal.key());
    if (gone != dropped.end())
      dropped.erase(gone);
    else if (!discarded)
      out.push_back(t);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

const ProfileRow* Record::profile_of(int trial) const {
  auto found = std::find_if(profiles.begin(), profiles.end(), [&](const ProfileRow& p) { return p.trial == trial; });
  return found == profiles.end() ? nullptr : &*found;
}

std::optional<measure::Interval> Record::speedup() const {
  if (const Trial* last = final_trial(); last != nullptr && last->comparison) return last->comparison->speedup;
  const Trial* now = best();
  if (now != nullptr && now->number == 0 && noise) return noise->speedup;
  return std::nullopt;
}

std::optional<double> Record::baseline_ms() const {
  if (const Trial* last = final_trial(); last != nullptr && last->comparison) return last->comparison->a_ms;
  if (baseline() == nullptr || !baseline()->measurement) return std::nullopt;
  return baseline()->measurement->execute_ms.median;
}

std::optional<double> Record::best_ms() const {
  if (const Trial* last = final_trial(); last != nullptr && last->comparison) return last->comparison->b_ms;
  const Trial* now = best();
  if (now == nullptr) return std::nullopt;
  if (now->number == 0) return baseline_ms();
  if (!now->comparison) return std::nullopt;
  return now->comparison->b_ms;
}

}  // namespace hone::run
