// SPDX-License-Identifier: Apache-2.0
#include "loop/loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "loop/ablation.h"
#include "loop/stop.h"
#include "run/layout.h"
#include "verdict/verdict.h"

namespace hone::loop {

namespace {

// Longest times of a comparison, for machines that are never quiet: a usual one takes 3 to 35 s (measuring.md 3).
constexpr double kTrialSeconds = 300, kFinalSeconds = 300;
// A comparison gets the time for so many instance pairs even when the budget is used up: fewer say next to nothing.
constexpr double kLeastPairs = 4;

}  // namespace

Status Loop::optimize() {
  HONE_TRY(occupy_device());
  HONE_TRY(fix_protocol());
  HONE_TRY(run_reference());
  HONE_TRY(measure_baseline());
  HONE_TRY(measure_noise());
  HONE_TRY(search());
  HONE_TRY(ablate());
  HONE_TRY(profile_best());
  HONE_TRY(measure_final());
  return publish();
}

Status Loop::plan() {
  HONE_TRY(occupy_device());
  HONE_TRY(fix_protocol());
  HONE_TRY(run_reference());
  HONE_TRY(measure_baseline());
  HONE_TRY(measure_noise());
  HONE_TRY(profile_best());
  run_.plan(HONE_TRY(choose_next()).open);
  return {};
}

// --- the search ---

Status Loop::search() {
  while (record().progress == run::Progress::kRunning) {
    if (const run::Trial* open = unfinished()) HONE_TRY(advance(*open));
    HONE_TRY(profile_best());
    Choice choice = HONE_TRY(choose_next());
    HONE_TRY(check_goal());
    std::vector<run::Stop> stops = stop_conditions({record(), choice.open, choice.left_out, run_.elapsed_s()});
    if (stops.empty()) {
      HONE_TRY(try_change(choice.open.front()));
      continue;
    }
    listener_.line(fmt::format("stop: {}: {}", stops[0].reason, stops[0].evidence));
    std::vector<change::Proposal> open;
    for (const run::Planned& p : choice.open) open.push_back(p.proposal);
    for (const run::Planned& p : choice.left_out) open.push_back(p.proposal);
    HONE_TRY(run_.stopped(std::move(stops), std::move(open)));
  }
  return {};
}

Status Loop::profile_best() {
  const run::Trial* best = record().best();
  if (record().profile_of(best->number) != nullptr) return {};
  say("profile", best->title(), best->number);
  HONE_TRY(stop_if_cancelled());
  Task where = task(best, "profile");
  const std::string dir = best->number == 0 ? std::string(run::kProfileFolder) : best->dir + "/prof";
  where.folder = run_.folder() / dir;
  std::error_code code;
  if (best->number > 0) fs::remove_all(where.folder, code);  // a killed hone's half of it
  HONE_TRY(make_directories(where.folder));
  auto diagnosis = lab_.profile(located(best->configuration), record().best_ms().value_or(0), where);
  if (diagnosis) return run_.profiled({best->number, dir, std::move(*diagnosis)});
  const run::ProfileRow* known = record().profile_of(best->parent);
  if (!fails_trial(diagnosis.error()) || known == nullptr)
    return fail(std::move(diagnosis).error().with("profiling " + best->title()));
  // The new best is good, only its profiler isn't: the search goes on with what was known of its parent.
  const std::string text = fmt::format("trial {} could not be profiled, the findings of trial {} stand: {}",
                                       best->number, best->parent, diagnosis.error().line());
  listener_.line("warning: " + text);
  HONE_TRY(run_.note("warning", text));
  return run_.profiled({best->number, dir, known->diagnosis});
}

// What is open now. Settings nobody has looked at yet are screened, and changes that can't be tried get their Trial
// that says so; then the choice is made again, from the journal.
Result<Choice> Loop::choose_next() {
  const std::vector<Candidate> proposed = HONE_TRY(lab_.propose(located(record().best()->configuration), diagnosis()));
  Choice choice = loop::choose(proposed, record());
  HONE_TRY(skip(choice));
  HONE_TRY(screen(choice));
  return loop::choose(proposed, record());
}

Status Loop::skip(const Choice& choice) {
  for (const Skip& s : choice.skip) {
    const change::Proposal& proposal = s.candidate.proposal;
    HONE_TRY(run_.skipped(proposal, s.candidate.kind, stage_of(proposal, diagnosis()), s.reason));
    listener_.line(fmt::format("{:>3} {}: skipped: {}", record().trials.back().number, proposal.key(), s.reason));
  }
  return {};
}

Status Loop::screen(const Choice& choice) {
  if (choice.to_screen.empty()) return {};
  const run::Trial* best = record().best();
  const fs::path scratch = run_.folder() / "screen.tmp";  // the name that resume() removes
  HONE_TRY(make_directories(scratch));
  for (const Candidate& candidate : choice.to_screen) {
    const run::Plan& plan = record().plan;
    if (plan.budget_s > 0 && run_.elapsed_s() + final_seconds(record()) > plan.budget_s) break;
    HONE_TRY(stop_if_cancelled());
    const std::string key = candidate.proposal.key();
    say("screen", key);
    const engine::Configuration now = located(best->configuration);
    auto applied = lab_.apply(candidate.proposal, now, diagnosis(), scratch);
    Task where = task(best, "screen " + key);
    where.folder = scratch;
    auto ratio =
        applied ? lab_.screen(now, applied->configuration, where) : Result<double>(fail(std::move(applied).error()));
    if (!ratio && !fails_trial(ratio.error())) return fail(ratio.error());
    // What can't be screened is tried as if it made no difference: its Trial will say what is wrong with it.
    HONE_TRY(run_.screened({best->number, best->configuration.engine, key, ratio.value_or(1.0)}));
  }
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  return {};
}

Status Loop::check_goal() {
  if (!goal_seems_met(record())) return {};
  const run::Trial* best = record().best();
  say("goal", "the best beside the original", best->number);
  HONE_TRY(stop_if_cancelled());
  Task where = task(best, "goal");
  where.budget_s = trial_budget();
  const Compared c = HONE_TRY(lab_.compare_fixed(original(), located(best->configuration), kFinalPairs, where));
  return run_.goal_checked(best->number, c.comparison, c.blocks);
}

// --- the end ---

Status Loop::ablate() {
  while (record().progress != run::Progress::kFinished && record().final_trial() == nullptr) {
    if (const run::Trial* open = unfinished()) {
      HONE_TRY(advance(*open));
      continue;
    }
    const std::optional<std::string> key = next_to_remove(record());
    if (!key) return {};
    const run::Plan& plan = record().plan;
    const double needed = 2 * final_seconds(record());  // this comparison and the final one
    if (plan.budget_s > 0 && run_.elapsed_s() + needed > plan.budget_s)
      return run_.note("warning", "no time was left to check whether every kept change still pays");
    HONE_TRY(advance(HONE_TRY(run_.begin(removal_of(*key, record()), "ablation", run::Stage::kCombination))));
  }
  return {};
}

Status Loop::measure_final() {
  const run::Trial* best = record().best();
  if (best->number == 0) return {};  // the A/A has measured the original beside itself
  if (record().final_trial() != nullptr && record().final_trial()->comparison) return {};
  run::Trial trial = record().final_trial() != nullptr ? *record().final_trial()
                                                       : HONE_TRY(run_.begin({}, "final", run::Stage::kFinal));
  say("final", "the best beside the original", trial.number);
  HONE_TRY(stop_if_cancelled());
  best = record().best();
  const double start = run_.elapsed_s();
  Task where = task(&trial, "final");
  where.budget_s = final_budget();
  const int pairs = final_pairs(record(), where.budget_s);
  Compared c = HONE_TRY(lab_.compare_fixed(original(), located(best->configuration), pairs, where));
  trial.configuration = best->configuration;
  trial.comparison = std::move(c.comparison);
  trial.accuracy = best->accuracy;
  trial.seconds += run_.elapsed_s() - start;
  for (const std::string& warning : trial.comparison->warnings) listener_.line("warning: " + warning);
  return run_.final_measured(trial, c.blocks);
}

Status Loop::publish() {
  say("final", "best/");
  const fs::path model = located(record().best()->configuration).model;
  return run_.finished([&](const fs::path& to) { return lab_.copy_model(model, to); });
}

// --- small things ---

engine::Configuration Loop::original() const { return {record().plan.engines.front(), record().plan.model, {}}; }

engine::Configuration Loop::located(const engine::Configuration& configuration) const {
  return run::located(configuration, run_.folder());
}

const diagnose::Diagnosis& Loop::diagnosis() const { return record().profile_of(record().best()->number)->diagnosis; }

// The seed is made of the Run's seed, the trial and the purpose: the same step has the same seed after a resume.
Task Loop::task(const run::Trial* trial, std::string_view purpose) const {
  Task out;
  const int number = trial == nullptr ? 0 : trial->number;
  const std::string hash = sha256_hex(fmt::format("{} {} {}", record().plan.seed, number, purpose));
  out.seed = std::stoull(hash.substr(0, 16), nullptr, 16);
  out.folder = run_.folder() / (trial == nullptr ? std::string(run::kProfileFolder) : trial->dir);
  out.cancelled = [this] { return listener_.cancelled(); };
  const std::string title = trial == nullptr ? std::string() : trial->title();
  std::string phase(purpose);
  if (purpose == "compare") phase = trial->stage == run::Stage::kCombination ? "ablation" : "trial";
  out.on_pair = [this, number, title, phase](int pairs, std::optional<double> speedup) {
    say(phase,
        fmt::format("{}: {}{}", title, counted(pairs, "instance pair"),
                    speedup ? fmt::format(", {:.3f} x", *speedup) : std::string()),
        number);
  };
  return out;
}

// A busy machine makes every measurement wait for quiet moments; none may eat the whole budget.
double Loop::share_of_budget(double share, double without) const {
  const double budget = record().plan.budget_s;
  return budget > 0 ? budget * share : without;
}

double Loop::trial_budget() const {
  const run::Plan& plan = record().plan;
  if (plan.budget_s <= 0) return kTrialSeconds;
  return std::max(plan.budget_s - run_.elapsed_s() - final_seconds(record()), kLeastPairs * pair_seconds(record()));
}

double Loop::final_budget() const {
  const run::Plan& plan = record().plan;
  if (plan.budget_s <= 0) return kFinalSeconds;
  return std::max(plan.budget_s - run_.elapsed_s(), kLeastPairs * pair_seconds(record()));
}

void Loop::say(std::string_view phase, std::string text, int trial) const {
  Update update;
  update.phase = phase;
  update.trial = trial;
  update.text = std::move(text);
  const run::Trial* best = record().best();
  if (best != nullptr && best->vs_original) update.best_speedup = best->vs_original->estimate;
  update.elapsed_s = run_.elapsed_s();
  update.budget_s = record().plan.budget_s;
  listener_.update(update);
}

Status Loop::stop_if_cancelled() const {
  if (!listener_.cancelled()) return {};
  return fail(interrupted("stopped on request"));
}

}  // namespace hone::loop
