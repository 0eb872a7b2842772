// SPDX-License-Identifier: Apache-2.0
#include "loop/stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace hone::loop {

namespace {

using measure::kMinimumEffect;
using run::Stop;

constexpr size_t kNoiseInARow = 3;  // artifacts.md section 6
// "The rest rank below": what is left is expected to give less than this, a third of the minimum effect.
constexpr double kNotWorthATrial = 0.01;
// Instance pairs of a usual trial (measuring.md section 3: R 8): one more trial must fit into the budget.
constexpr int kUsualPairs = 8;
// "Dominant": more than half of the time.
constexpr double kDominant = 0.5;

// The best beside the original: measured for the goal, when that was done for this very best; of a baseline its A/A.
std::optional<measure::Comparison> beside_original(const run::Record& record) {
  const run::Trial* best = record.best();
  if (best == nullptr) return std::nullopt;
  if (best->number == 0) return record.noise;
  if (record.goal_check_of == best->number) return record.goal_check;
  return std::nullopt;
}

int64_t peak_bytes(const run::Record& record) {
  const run::Trial* best = record.best();
  if (best == nullptr) return 0;
  if (best->comparison) return best->comparison->b_peak_bytes;
  return best->measurement ? best->measurement->peak_memory_bytes : 0;
}

std::optional<Stop> goal(const run::Record& record) {
  if (!record.plan.goal) return std::nullopt;
  const run::Goal& goal = *record.plan.goal;
  if (goal.kind == run::Goal::Kind::kMemoryBytes) {
    const auto peak = static_cast<double>(peak_bytes(record));
    if (peak <= 0 || peak > goal.value) return std::nullopt;
    return Stop{"goal", fmt::format("{}: peak memory {}", goal.text(), bytes_text(peak))};
  }
  const std::optional<measure::Comparison> c = beside_original(record);
  if (!c || c->speedup.low <= 0) return std::nullopt;
  if (goal.kind == run::Goal::Kind::kSpeedup) {
    if (c->speedup.low < goal.value) return std::nullopt;
    return Stop{"goal", fmt::format("{}: {:.3f} [{:.3f}, {:.3f}] beside the original", goal.text(), c->speedup.estimate,
                                    c->speedup.low, c->speedup.high)};
  }
  const double slowest = c->a_ms / c->speedup.low;
  if (slowest > goal.value) return std::nullopt;
  return Stop{"goal", fmt::format("{}: {:.4g} ms, at most {:.4g} ms", goal.text(), c->b_ms, slowest)};
}

bool tried(const run::Trial& t) {
  return !t.proposal.change.empty() && t.verdict && t.verdict->kind != verdict::Kind::kSkipped;
}

std::string names(const std::vector<run::Planned>& planned) {
  std::string out;
  for (size_t i = 0; i < planned.size() && i < 5; ++i)
    out += fmt::format("{}{} (at most {:.3f})", i == 0 ? "" : ", ", planned[i].proposal.key(),
                       planned[i].proposal.upper_bound);
  if (planned.size() > 5) out += fmt::format(" and {} more", planned.size() - 5);
  return out;
}

std::optional<Stop> noise(const StopFacts& facts) {
  std::vector<run::Planned> all = facts.open;
  all.insert(all.end(), facts.left_out.begin(), facts.left_out.end());
  if (all.empty()) return std::nullopt;
  if (std::all_of(all.begin(), all.end(),
                  [](const run::Planned& p) { return p.proposal.upper_bound < kMinimumEffect; }))
    return Stop{"noise", "no open change can gain 3 %: " + names(all)};
  std::vector<const run::Trial*> last;
  for (auto t = facts.record.trials.rbegin(); t != facts.record.trials.rend() && last.size() < kNoiseInARow; ++t)
    if (tried(*t)) last.push_back(&*t);
  if (last.size() < kNoiseInARow) return std::nullopt;
  double least = INFINITY;
  for (const run::Trial* t : last) {
    if (!t->verdict->noise) return std::nullopt;
    least = std::min(least, t->proposal.predicted);
  }
  for (const run::Planned& p : all)
    if (p.proposal.predicted >= least || p.chance * std::log(std::max(p.proposal.predicted, 1.0)) >= kNotWorthATrial)
      return std::nullopt;
  return Stop{"noise", fmt::format("the last {} changes were noise ({}, {}, {}) and the rest promises less: {}",
                                   kNoiseInARow, last[2]->title(), last[1]->title(), last[0]->title(), names(all))};
}

bool answered(const std::string& finding, const std::vector<run::Planned>& open) {
  return std::any_of(open.begin(), open.end(), [&](const run::Planned& p) {
    return p.proposal.finding == finding && p.proposal.upper_bound >= kMinimumEffect;
  });
}

// The one finding whose cause is outside of the model and of hone: the engine's own work around its kernels.
std::optional<Stop> external(const StopFacts& facts) {
  const run::Trial* best = facts.record.best();
  const run::ProfileRow* profile = best == nullptr ? nullptr : facts.record.profile_of(best->number);
  if (profile == nullptr) return std::nullopt;
  const diagnose::Finding* f = profile->diagnosis.find("outside_kernel_time");
  if (f == nullptr || f->share < kDominant || answered(f->id, facts.open)) return std::nullopt;
  // Small kernels are the same trouble seen from the other side: threads and engines answer them.
  if (answered("small_kernels", facts.open)) return std::nullopt;
  return Stop{"external", fmt::format("{:.0f} % of the time is spent outside of kernels, in {} itself: {}",
                                      f->share * 100, best->configuration.engine, f->evidence)};
}

// Settings and engines can't pass the machine's limit; graph changes and quantization lower the work itself.
std::optional<Stop> hardware(const StopFacts& facts) {
  const run::Trial* best = facts.record.best();
  const run::ProfileRow* profile = best == nullptr ? nullptr : facts.record.profile_of(best->number);
  const diagnose::Finding* f = profile == nullptr ? nullptr : profile->diagnosis.find("at_hardware_limit");
  if (f == nullptr) return std::nullopt;
  for (const run::Planned& p : facts.open)
    if ((p.kind == "graph" || p.kind == "quantize") && p.proposal.upper_bound >= kMinimumEffect) return std::nullopt;
  return Stop{"hardware", f->evidence};
}

std::optional<Stop> exhausted(const StopFacts& facts) {
  if (!facts.open.empty() || !facts.left_out.empty()) return std::nullopt;
  const auto count = std::count_if(facts.record.trials.begin(), facts.record.trials.end(), tried);
  return Stop{"exhausted", fmt::format("no open change is left after {}", counted(count, "trial"))};
}

std::optional<Stop> budget(const StopFacts& facts) {
  const run::Plan& plan = facts.record.plan;
  const auto count = std::count_if(facts.record.trials.begin(), facts.record.trials.end(), tried);
  if (plan.max_trials > 0 && count >= plan.max_trials)
    return Stop{"budget", fmt::format("{} of {} trials done", count, plan.max_trials)};
  if (plan.budget_s <= 0) return std::nullopt;
  const double reserve = final_seconds(facts.record) + kUsualPairs * pair_seconds(facts.record);
  if (facts.elapsed_s + reserve < plan.budget_s) return std::nullopt;
  return Stop{"budget",
              fmt::format("{:.0f} of {:.0f} s are used and one more trial with the final re-measurement "
                          "takes {:.0f} s; open: {}",
                          facts.elapsed_s, plan.budget_s, reserve, facts.open.empty() ? "nothing" : names(facts.open))};
}

}  // namespace

double pair_seconds(const run::Record& record) {
  if (!record.noise || record.noise->pairs.empty()) return 1;  // measuring.md section 3: 0.7-1.1 s up to 16 ms
  return std::max(record.noise->seconds / static_cast<double>(record.noise->pairs.size()), 0.01);
}

int final_pairs(const run::Record& record, double seconds) {
  int pairs = kFinalPairs;
  if (!record.noise || record.noise->pairs.size() < 2) return pairs;
  const auto fits = [&](int count) { return count * pair_seconds(record) <= seconds; };
  while (pairs < kMostFinalPairs && measure::half_width(record.noise->sd, pairs) > std::log(kMinimumEffect) &&
         fits(pairs + 1))
    ++pairs;
  return pairs;
}

double final_seconds(const run::Record& record) { return kFinalPairs * pair_seconds(record); }

bool goal_seems_met(const run::Record& record) {
  const run::Trial* best = record.best();
  if (!record.plan.goal || best == nullptr || best->number == 0 || record.goal_check_of == best->number) return false;
  const run::Goal& goal = *record.plan.goal;
  if (goal.kind == run::Goal::Kind::kSpeedup) return best->vs_original && best->vs_original->estimate >= goal.value;
  return goal.kind == run::Goal::Kind::kLatencyMs && best->comparison && best->comparison->b_ms <= goal.value;
}

std::vector<Stop> stop_conditions(const StopFacts& facts) {
  std::vector<Stop> out;
  for (const auto& stop :
       {goal(facts.record), noise(facts), external(facts), hardware(facts), exhausted(facts), budget(facts)})
    if (stop) out.push_back(*stop);
  return out;
}

}  // namespace hone::loop
