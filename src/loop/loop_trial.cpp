// The loop's part for one Trial: from the state it is in to its verdict, one arrow at a time.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "loop/ablation.h"
#include "loop/loop.h"
#include "verdict/verdict.h"

namespace hone::loop {

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

// The original with every change of the best but one, in the order they were kept.
Result<change::Applied> Loop::rebuild(const run::Trial& trial) {
  const std::string& removed = trial.proposal.params.at("change");
  change::Applied all;
  all.configuration = original();
  all.summary = "the best without " + removed;
  std::vector<fs::path> folders;
  for (const run::Trial* kept : record().chain(trial.parent)) {
    if (kept->proposal.key() == removed) continue;
    const fs::path& folder = folders.emplace_back(run_.folder() / trial.dir / fmt::format("from_{:03}", kept->number));
    HONE_TRY(make_directories(folder));
    const change::Applied one =
        HONE_TRY(lab_.apply(kept->proposal, all.configuration, record().profile_of(0)->diagnosis, folder));
    all.configuration = one.configuration;
    all.export_log += fmt::format("{}: {}\n{}", kept->title(), one.summary, one.export_log);
    all.patch += one.patch;
  }
  // Models in between were only steps to the last one.
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    if (folder != all.configuration.model.parent_path()) fs::remove_all(folder, ignored);
  }
  return all;
}

// Against the original a Trial is as lossy as the lossiest Change in it.
accuracy::Class Loop::class_of(const run::Trial& trial) const {
  accuracy::Class out = trial.proposal.accuracy;
  if (trial.stage == run::Stage::kCombination) return out;  // says it itself: removal_of()
  for (const run::Trial* part : record().chain(trial.number)) out = std::max(out, part->proposal.accuracy);
  return out;
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
