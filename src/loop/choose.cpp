// SPDX-License-Identifier: Apache-2.0
#include "loop/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace hone::loop {

namespace {

using measure::kMinimumEffect;

// Weight of the Change's own chance against experience, in trials. Two: one failure of the same change lowers it to two
// thirds, three of them to 40 %. Own choice.
constexpr double kPriorTrials = 2;
constexpr double kSameChange = 1, kSameFinding = 0.5, kSameKind = 0.25;

// A best that has become this much faster is another model to a setting: what did not pay before may pay now.
constexpr double kAnotherModel = 1.25;

// The share of its upper bound that a proposal with no predicted gain is credited with, so that proposals without a
// prediction are ordered by what they could give.
constexpr double kHope = 0.1;

double ms_of(const run::Record& record, int number) {
  const run::Trial* t = record.trial(number);
  if (t == nullptr) return 0;
  if (t->comparison) return t->comparison->b_ms;
  return t->measurement ? t->measurement->execute_ms.median : 0;
}

// How much faster the current best is than trial `number` was.
double progress_since(const run::Record& record, int number) {
  const run::Trial* best = record.best();
  const double then = ms_of(record, number), now = best == nullptr ? 0 : ms_of(record, best->number);
  return then > 0 && now > 0 ? then / now : 1;
}

bool wanted(const std::string& change, const run::Plan& plan) {
  auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), change) != list.end();
  };
  return (plan.only.empty() || has(plan.only)) && !has(plan.skip);
}

std::optional<std::string> reason_to_skip(const Candidate& candidate, const run::Record& record) {
  if (candidate.proposal.accuracy != accuracy::Class::kLossy) return std::nullopt;
  if (record.protocol && record.protocol->synthetic)
    return "needs data: random inputs prove nothing about a lossy change; give real samples with --data";
  if (record.plan.gate.level == "bitwise") return "lossy: can't pass the gate `bitwise`";
  return std::nullopt;
}

const run::ScreenRow* screen_of(const Candidate& candidate, const run::Record& record) {
  const run::Trial* best = record.best();
  const std::string key = candidate.proposal.key();
  const run::ScreenRow* newest = nullptr;
  for (const run::ScreenRow& s : record.screens)
    if (s.key == key && best != nullptr && s.engine == best->configuration.engine &&
        progress_since(record, s.best) < kAnotherModel)
      newest = &s;
  return newest;
}

// An engine that the best has left for a faster one: going back is the comparison that was made then.
bool left_behind(const change::Proposal& proposal, const run::Record& record) {
  const auto wanted = proposal.params.find("engine");
  if (wanted == proposal.params.end()) return false;
  // Not the chain(): it has only the last of several engines.
  for (const run::Trial* t = record.best(); t != nullptr; t = record.trial(t->parent)) {
    const run::Trial* parent = record.trial(t->parent);
    if (t->kind == "engine" && parent != nullptr && parent->configuration.engine == wanted->second) return true;
  }
  return false;
}

double normal_above(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// The prediction of a screened setting. Two instance pairs with short blocks: the sd of their mean is about the A/A's
// sd of one pair (measuring.md 1.3: half the block, twice the variance), at least 1.5 %, the smallest seen there.
run::Planned screened(run::Planned planned, double speedup, const run::Record& record) {
  const bool known = record.noise && record.noise->pairs.size() > 1;
  const double sd = std::max(known ? record.noise->sd : 0.03, 0.015);
  planned.proposal.predicted = speedup;
  planned.proposal.upper_bound = speedup * std::exp(2 * sd);
  planned.chance = normal_above((std::log(kMinimumEffect) - std::log(speedup)) / sd);
  planned.note = fmt::format("screened: {:.3f} x in 2 instance pairs", speedup);
  return planned;
}

}  // namespace

bool closed(const Candidate& candidate, const run::Record& record) {
  const run::Trial* best = record.best();
  if (candidate.kind == "engine" && best != nullptr && left_behind(candidate.proposal, record)) return true;
  const std::string key = candidate.proposal.key();
  for (const run::Trial& t : record.trials) {
    if (t.proposal.change.empty() || t.proposal.key() != key || t.state != run::State::kJudged) continue;
    if (t.verdict && t.verdict->kind == verdict::Kind::kSkipped) return true;
    const run::Trial* parent = record.trial(t.parent);
    if (parent == nullptr || best == nullptr || parent->configuration.engine != best->configuration.engine) continue;
    const bool again = candidate.kind == "setting" && t.verdict && t.verdict->kind == verdict::Kind::kRolledBack &&
                       t.comparison && progress_since(record, t.parent) >= kAnotherModel;
    if (!again) return true;
  }
  return false;
}

double updated_chance(double prior, const Candidate& candidate, const run::Record& record) {
  double kept = kPriorTrials * prior, tried = kPriorTrials;
  for (const run::Trial& t : record.trials) {
    if (t.proposal.change.empty() || t.stage == run::Stage::kCombination || !t.verdict ||
        t.verdict->kind == verdict::Kind::kSkipped)
      continue;
    double weight = 0;
    if (t.proposal.change == candidate.proposal.change)
      weight = kSameChange;
    else if (!t.proposal.finding.empty() && t.proposal.finding == candidate.proposal.finding)
      weight = kSameFinding;
    else if (t.kind == candidate.kind)
      weight = kSameKind;
    tried += weight;
    if (t.kept()) kept += weight;
  }
  return kept / tried;
}

double value_of(const change::Proposal& proposal, double chance) {
  const double predicted = std::log(std::max(proposal.predicted, 1.0));
  const double hoped = kHope * std::log(std::max(proposal.upper_bound, 1.0));
  return chance * std::max(predicted, hoped) / std::max(proposal.cost_seconds, 0.1);
}

Choice choose(const std::vector<Candidate>& proposed, const run::Record& record) {
  Choice choice;
  size_t settings = 0;
  for (const Candidate& candidate : proposed) {
    if (!wanted(candidate.proposal.change, record.plan) || closed(candidate, record)) continue;
    if (auto reason = reason_to_skip(candidate, record)) {
      choice.skip.push_back({candidate, *reason});
      continue;
    }
    run::Planned planned{candidate.proposal, candidate.kind, 0, 0, {}};
    planned.chance = updated_chance(candidate.proposal.chance, candidate, record);
    if (candidate.kind == "setting") {
      ++settings;
      if (const run::ScreenRow* s = screen_of(candidate, record))
        planned = screened(std::move(planned), s->speedup, record);
      else
        choice.to_screen.push_back(candidate);
    }
    planned.value = value_of(planned.proposal, planned.chance);
    const bool hopeless = !planned.note.empty() && planned.proposal.upper_bound < kMinimumEffect;
    (hopeless ? choice.left_out : choice.open).push_back(std::move(planned));
  }
  // One setting alone is tried as it is: a screen would only add to its cost. Those screened before count, so that a
  // kill between two screens doesn't change what comes after.
  if (settings <= 1) choice.to_screen.clear();
  std::stable_sort(choice.open.begin(), choice.open.end(),
                   [](const run::Planned& a, const run::Planned& b) { return a.value > b.value; });
  return choice;
}

}  // namespace hone::loop
