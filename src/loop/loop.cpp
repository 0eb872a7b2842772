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

Status Loop::optimize() {
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
  HONE_TRY(fix_protocol());
  HONE_TRY(run_reference());
  HONE_TRY(measure_baseline());
  HONE_TRY(measure_noise());
  HONE_TRY(profile_best());
  run_.plan(HONE_TRY(choose_next()).open);
  return {};
}

// --- before the first Change ---

Status Loop::fix_protocol() {
  if (!record().protocol) {
    say("protocol", "reading model and data");
    Fixed fixed = HONE_TRY(lab_.fix(record().plan, run_.folder() / run::kSamples));
    HONE_TRY(run_.set_protocol(fixed.protocol, std::move(fixed.source), std::move(fixed.notes)));
  }
  return lab_.begin(record());
}

Status Loop::run_reference() {
  if (record().has_reference) return {};
  say("reference", "outputs of the original with all optimizations off");
  HONE_TRY(stop_if_cancelled());
  HONE_TRY(lab_.reference(run_.folder() / run::kReference, task(nullptr, "reference")).map_error([](Error e) {
    // Not bad input: the model may be fine, but without a reference nothing can be judged (exit 3).
    if (fails_trial(e)) e.kind = ErrorKind::kToolFailed;
    return std::move(e).with("the accuracy reference: onnxruntime without optimizations");
  }));
  return run_.set_reference();
}

Status Loop::measure_baseline() {
  if (record().baseline() != nullptr) return {};
  say("baseline", "accuracy and latency of the original", 0);
  run::Trial baseline;
  baseline.stage = run::Stage::kBaseline;
  baseline.state = run::State::kJudged;
  baseline.configuration = original();
  baseline.dir = run::kProfileFolder;
  baseline.started = utc_now_iso8601();
  baseline.vs_original = measure::Interval{1, 1, 1};
  const double start = run_.elapsed_s();
  run::TrialLogs logs;
  HONE_TRY(stop_if_cancelled());
  auto in_baseline = [](Error e) { return std::move(e).with("the baseline"); };
  baseline.accuracy =
      HONE_TRY(lab_.check(baseline.configuration, accuracy::Class::kReassociating, task(&baseline, "check"), &logs)
                   .map_error(in_baseline));
  baseline.measurement =
      HONE_TRY(lab_.measure(baseline.configuration, task(&baseline, "measure")).map_error(in_baseline));
  baseline.seconds = run_.elapsed_s() - start;
  HONE_TRY(run_.baseline(baseline, logs));
  for (const std::string& warning : baseline.measurement->warnings) listener_.line("warning: " + warning);
  if (baseline.accuracy->passed) return {};
  const std::string text = "the original itself departs from the reference: " + baseline.accuracy->why;
  listener_.line("warning: " + text);
  return run_.note("warning", text);
}

Status Loop::measure_noise() {
  if (record().noise) return {};
  say("noise", "the original beside itself", 0);
  HONE_TRY(stop_if_cancelled());
  Task where = task(record().baseline(), "noise");
  // On a busy machine the A/A must not eat what the trials need (own choice: a tenth of the budget, at least 15 s).
  if (record().plan.budget_s > 0) where.budget_s = std::max(15.0, record().plan.budget_s / 10);
  const Compared noise = HONE_TRY(lab_.compare_fixed(original(), original(), kNoisePairs, where));
  HONE_TRY(run_.noise(noise.comparison, noise.blocks));
  for (const std::string& warning : noise.comparison.warnings) listener_.line("warning: " + warning);
  const std::optional<double> least = measure::smallest_provable(noise.comparison);
  listener_.line(
      fmt::format("baseline {:.4g} ms; the smallest gain that can be proven here is {}", *record().baseline_ms(),
                  least ? fmt::format("{:.1f} %", (*least - 1) * 100) : "not known: the machine is too busy"));
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
  const Compared c =
      HONE_TRY(lab_.compare_fixed(original(), located(best->configuration), kFinalPairs, task(best, "goal")));
  return run_.goal_checked(best->number, c.comparison, c.blocks);
}

// --- one Trial ---

Status Loop::try_change(const run::Planned& planned) {
  HONE_TRY(stop_if_cancelled());
  return advance(HONE_TRY(run_.begin(planned.proposal, planned.kind, stage_of(planned.proposal, diagnosis()))));
}

const run::Trial* Loop::unfinished() const {
  const run::Trial& last = record().trials.back();
  return last.state != run::State::kJudged && last.stage != run::Stage::kFinal ? &last : nullptr;
}

Status Loop::advance(run::Trial trial) {
  while (trial.state != run::State::kJudged) {
    say(trial.stage == run::Stage::kCombination ? "ablation" : "trial", trial.title(), trial.number);
    HONE_TRY(stop_if_cancelled());
    const double start = run_.elapsed_s();
    run::TrialLogs logs;
    Result<run::Trial> next = step(trial, &logs);
    if (!next && !fails_trial(next.error())) return fail(next.error());
    if (!next) {
      trial.verdict = verdict::failed(next.error());
      trial.seconds += run_.elapsed_s() - start;
      next = judged(trial, logs);
    }
    trial = HONE_TRY(std::move(next));
  }
  return {};
}

// One arrow of the state machine.
Result<run::Trial> Loop::step(const run::Trial& trial, run::TrialLogs* logs) {
  switch (trial.state) {
    case run::State::kCreated:
      return prepare(trial);
    case run::State::kPrepared:
      return convert(trial, logs);
    case run::State::kConverted:
      return trial.accuracy->passed ? compare(trial) : judge(trial);
    default:
      return judge(trial);
  }
}

Result<run::Trial> Loop::prepare(const run::Trial& given) {
  run::Trial trial = given;
  const double start = run_.elapsed_s();
  HONE_TRY(run_.begin_again(trial));
  const run::Trial* best = record().best();
  const change::Applied applied =
      trial.stage == run::Stage::kCombination
          ? HONE_TRY(rebuild(trial))
          : HONE_TRY(lab_.apply(trial.proposal, located(best->configuration), diagnosis(), run_.folder() / trial.dir));
  trial.seconds += run_.elapsed_s() - start;
  HONE_TRY(run_.prepared(trial, applied));
  return *record().trial(trial.number);
}

Result<run::Trial> Loop::convert(const run::Trial& given, run::TrialLogs* logs) {
  run::Trial trial = given;
  const double start = run_.elapsed_s();
  trial.accuracy = HONE_TRY(lab_.check(located(trial.configuration), class_of(trial), task(&trial, "check"), logs));
  trial.seconds += run_.elapsed_s() - start;
  HONE_TRY(run_.converted(trial, *logs));
  return *record().trial(trial.number);
}

Result<run::Trial> Loop::compare(const run::Trial& given) {
  run::Trial trial = given;
  const double start = run_.elapsed_s();
  const run::Trial* parent = record().trial(trial.parent);
  const engine::Configuration best = located(parent->configuration), tried = located(trial.configuration);
  Task where = task(&trial, "compare");
  where.budget_s = trial_budget();
  const bool removal = trial.stage == run::Stage::kCombination;
  Compared compared = HONE_TRY(removal ? lab_.compare(tried, best, where) : lab_.compare(best, tried, where));
  if (removal) {
    compared.comparison = turned(compared.comparison);
    for (measure::BlockRow& b : compared.blocks) b.side = b.side == 'A' ? 'B' : 'A';
  }
  trial.comparison = std::move(compared.comparison);
  const measure::Interval& was = *parent->vs_original;
  const measure::Interval& by = trial.comparison->speedup;
  trial.vs_original = measure::Interval{was.estimate * by.estimate, was.low * by.low, was.high * by.high};
  trial.seconds += run_.elapsed_s() - start;
  HONE_TRY(run_.measured(trial, compared.blocks));
  return *record().trial(trial.number);
}

Result<run::Trial> Loop::judge(run::Trial trial) {
  if (!trial.accuracy->passed)
    trial.verdict = verdict::inaccurate(*trial.accuracy);
  else if (trial.stage == run::Stage::kCombination)
    trial.verdict = judge_removal(*trial.comparison, *trial.accuracy, trial.proposal.params.at("change"));
  else
    trial.verdict = verdict::judge(*trial.comparison, *trial.accuracy);
  return judged(trial, {});
}

Result<run::Trial> Loop::judged(const run::Trial& trial, const run::TrialLogs& logs) {
  HONE_TRY(run_.judged(trial, logs));
  listener_.line(fmt::format("{:>3} {}: {}: {}", trial.number, trial.title(), verdict::to_text(trial.verdict->kind),
                             trial.verdict->reason));
  return *record().trial(trial.number);
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

// The original with every change of the best but one, in the order they were kept.
Result<change::Applied> Loop::rebuild(const run::Trial& trial) {
  const std::string& removed = trial.proposal.params.at("change");
  change::Applied all;
  all.configuration = original();
  all.summary = "the best without " + removed;
  for (const run::Trial* kept : record().chain(trial.parent)) {
    if (kept->proposal.key() == removed) continue;
    const fs::path folder = run_.folder() / trial.dir / fmt::format("from_{:03}", kept->number);
    HONE_TRY(make_directories(folder));
    const change::Applied one =
        HONE_TRY(lab_.apply(kept->proposal, all.configuration, record().profile_of(0)->diagnosis, folder));
    all.configuration = one.configuration;
    all.export_log += fmt::format("{}: {}\n{}", kept->title(), one.summary, one.export_log);
    all.patch += one.patch;
  }
  return all;
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
  Compared c =
      HONE_TRY(lab_.compare_fixed(original(), located(best->configuration), kFinalPairs, task(&trial, "final")));
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
  out.on_pair = [this, number, title, phase = std::string(purpose)](int pairs, std::optional<double> speedup) {
    say(phase,
        fmt::format("{}: {}{}", title, counted(pairs, "instance pair"),
                    speedup ? fmt::format(", {:.3f} x", *speedup) : std::string()),
        number);
  };
  return out;
}

// Against the original a Trial is as lossy as the lossiest Change below it.
accuracy::Class Loop::class_of(const run::Trial& trial) const {
  accuracy::Class out = trial.proposal.accuracy;
  if (trial.stage == run::Stage::kCombination) return out;  // says it itself: removal_of()
  for (const run::Trial* below : record().chain(trial.parent)) out = std::max(out, below->proposal.accuracy);
  return out;
}

double Loop::trial_budget() const {
  const run::Plan& plan = record().plan;
  if (plan.budget_s <= 0) return 0;
  return std::max(plan.budget_s - run_.elapsed_s() - final_seconds(record()), pair_seconds(record()) * 4);
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
  return fail(interrupted("stopped on request", run_.folder().string(), "go on with --resume"));
}

bool fails_trial(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kToolFailed:
    case ErrorKind::kTimedOut:
    case ErrorKind::kBadInput:
    case ErrorKind::kUnsupported:
      return true;
    default:
      return false;
  }
}

run::Stage stage_of(const change::Proposal& proposal, const diagnose::Diagnosis& diagnosis) {
  const diagnose::Finding* finding = diagnosis.find(proposal.finding);
  if (finding == nullptr) return run::Stage::kP2;
  switch (finding->priority) {
    case diagnose::Priority::kP0:
      return run::Stage::kP0;
    case diagnose::Priority::kP1:
      return run::Stage::kP1;
    case diagnose::Priority::kP2:
      break;
  }
  return run::Stage::kP2;
}

}  // namespace hone::loop
