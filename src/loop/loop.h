// Loop: the drawing of product.md as code. It reads the Run's Record, decides (choose.h, stop.h, verdict/), lets a Lab
// act and writes each step to the Run. It keeps no state of its own: every step asks the Record whether it is done, so
// going on after a kill is the same code as going on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "loop/choose.h"
#include "loop/lab.h"
#include "loop/optimize.h"
#include "run/run.h"

namespace hone::loop {

class Loop {
 public:
  Loop(run::Run& run, Lab& lab, Listener& listener) : run_(run), lab_(lab), listener_(listener) {}
  // Everything up to a finished Run.
  Status optimize();
  // Up to the list of what would be tried; the Run can be gone on with.
  Status plan();

 private:
  const run::Record& record() const { return run_.record(); }

  // The steps of the drawing.
  Status occupy_device();
  Status fix_protocol();
  Status run_reference();
  Status measure_baseline();
  Status measure_noise();
  Status search();
  Status profile_best();
  Result<Choice> choose_next();
  Status screen(const Choice& choice);
  Status skip(const Choice& choice);
  Status check_goal();
  Status try_change(const run::Planned& planned);
  Status ablate();
  Status measure_final();
  Status publish();

  // One Trial from the state it is in to its verdict.
  Status advance(run::Trial trial);
  Result<run::Trial> step(const run::Trial& trial, run::TrialLogs* logs);
  Result<run::Trial> prepare(const run::Trial& trial);
  Result<run::Trial> convert(const run::Trial& trial, run::TrialLogs* logs);
  Result<run::Trial> compare(const run::Trial& trial);
  Result<run::Trial> judge(run::Trial trial);
  Result<run::Trial> judged(const run::Trial& trial, const run::TrialLogs& logs);
  Result<change::Applied> rebuild(const run::Trial& trial);
  const run::Trial* unfinished() const;

  engine::Configuration original() const;
  engine::Configuration located(const engine::Configuration& configuration) const;
  const diagnose::Diagnosis& diagnosis() const;
  accuracy::Class class_of(const run::Trial& trial) const;
  Task task(const run::Trial* trial, std::string_view purpose) const;
  double share_of_budget(double share, double without) const;
  double trial_budget() const;
  double final_budget() const;
  void say(std::string_view phase, std::string text, int trial = -1) const;
  Status stop_if_cancelled() const;

  run::Run& run_;
  Lab& lab_;
  Listener& listener_;
};

// True when the Error is the engine's or the model's, so that the Trial failed and not the Run.
bool fails_trial(const Error& error);
// The stage of a proposal: the priority of the finding it answers.
run::Stage stage_of(const change::Proposal& proposal, const diagnose::Diagnosis& diagnosis);

}  // namespace hone::loop
