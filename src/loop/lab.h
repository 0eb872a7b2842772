// Lab: what the loop does to the world: measure, run samples, profile, apply a Change. The loop decides, a Lab acts, so
// the loop is tested with a scripted Lab: thousands of optimizations in seconds, with a crash at every step.
//
// Configurations given to a Lab name models by absolute paths. An Error of kind kToolFailed, kTimedOut, kBadInput or
// kUnsupported is the engine's or the model's (a failed Trial); any other kind stops the Run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "change/change.h"
#include "diagnose/diagnosis.h"
#include "engine/engine.h"
#include "measure/measure.h"
#include "protocol/protocol.h"
#include "run/record.h"
#include "run/trial_files.h"

namespace hone::loop {

// What is known before the Run begins.
struct Facts {
  std::string hone_version, model_sha256;
  int64_t model_bytes = 0;
  std::map<std::string, std::string> environment;  // manifest.txt's keys; those that bind: run/manifest.h
};

struct Fixed {
  protocol::Protocol protocol;
  std::string source;
  std::vector<std::string> notes;
};

// The circumstances of one measurement.
struct Task {
  fs::path folder;      // logs and raw files go below it
  uint64_t seed = 0;    // of the order of blocks; the same step of the same Run has the same
  double budget_s = 0;  // 0 = none
  std::function<void(int pairs, std::optional<double> speedup)> on_pair;  // after each instance pair, for progress
  std::function<bool()> cancelled;                                        // true = give up (kInterrupted)
};

struct Compared {
  measure::Comparison comparison;
  std::vector<measure::BlockRow> blocks;
};

struct Candidate {
  change::Proposal proposal;
  std::string kind;  // change::to_text(Kind)
};

class Lab {
 public:
  virtual ~Lab() = default;
  virtual Result<Facts> facts(const run::Plan& plan) = 0;
  // Loads or makes the samples, writes them to `samples`, and fixes what makes measurements comparable.
  virtual Result<Fixed> fix(const run::Plan& plan, const fs::path& samples) = 0;
  // Waits until no other Run measures on this device; called before the first step, and its time does not count.
  virtual Status occupy(const run::Plan& /*plan*/, const std::function<void()>& /*on_wait*/,
                        const std::function<bool()>& /*cancelled*/) {
    return {};
  }
  // The Protocol, samples and reference outputs of this Run hold from now on: after fix(), and on resume.
  virtual Status begin(const run::Record& record) = 0;
  // Runs the accuracy reference over all samples.
  virtual Status reference(const fs::path& outputs, const Task& task) = 0;
  // Runs the configuration over all samples and compares with the reference. `logs` are filled on failure too.
  virtual Result<accuracy::Report> check(const engine::Configuration& tried, accuracy::Class accuracy_class,
                                         const Task& task, run::TrialLogs* logs) = 0;
  virtual Result<measure::Measurement> measure(const engine::Configuration& what, const Task& task) = 0;
  virtual Result<Compared> compare(const engine::Configuration& a, const engine::Configuration& b,
                                   const Task& task) = 0;
  virtual Result<Compared> compare_fixed(const engine::Configuration& a, const engine::Configuration& b, int pairs,
                                         const Task& task) = 0;
  // A / B time ratio from a cheap look.
  virtual Result<double> screen(const engine::Configuration& a, const engine::Configuration& b, const Task& task) = 0;
  // `latency_ms`: measured without the profiler.
  virtual Result<diagnose::Diagnosis> profile(const engine::Configuration& what, double latency_ms,
                                              const Task& task) = 0;
  // What could be tried on top of `best`, in the order of changes.def.
  virtual Result<std::vector<Candidate>> propose(const engine::Configuration& best,
                                                 const diagnose::Diagnosis& diagnosis) = 0;
  virtual Result<change::Applied> apply(const change::Proposal& proposal, const engine::Configuration& best,
                                        const diagnose::Diagnosis& diagnosis, const fs::path& folder) = 0;
  // Puts the model (with external data) where `to` says; the folder exists.
  virtual Status copy_model(const fs::path& model, const fs::path& to) = 0;
};

}  // namespace hone::loop
