// optimize: the whole loop behind one call: what `hone optimize` and library users start.
//
// A run that was interrupted (Ctrl-C, kill, full disk) goes on with `resume`: options of the first call are kept in its
// journal and nothing else is needed. A finished run that is resumed gives its Record again and does nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "base/file.h"
#include "base/result.h"
#include "run/record.h"

namespace hone::loop {

struct OptimizeOptions {
  fs::path model;
  fs::path data;  // empty = synthetic
  std::map<std::string, std::vector<int64_t>> shapes;
  std::vector<std::string> engines;  // the first is the baseline's; empty = onnxruntime, then every other available one
  std::optional<run::Goal> goal;     // run::Goal::parse reads the command line's form
  double budget_s = 0;               // 0 = none
  int max_trials = 0;                // 0 = no limit
  accuracy::Gate gate;
  std::vector<std::string> only, skip;  // change ids; unknown ones are a kUsage error with the nearest
  uint64_t seed = 42;
  fs::path out;     // empty = runs/YYYYMMDD_<model>_optimization
  fs::path resume;  // a run directory; the other options are ignored
  bool dry_run =
      false;        // protocol, baseline, profile, diagnosis; then the Record's `planned`. Without `out` nothing stays
  int threads = 0;  // 0 = all cores
  size_t sample_limit = 64;
  run::Keep keep = run::Keep::kBest;
  std::string command_line;  // for manifest.txt
};

// What a progress line shows; sent often.
struct Update {
  std::string phase;  // "protocol", "reference", "baseline", "noise", "profile", "screen", "trial", "ablation", "final"
  int trial = -1;     // its number; -1 outside of trials
  std::string text;   // "fuse-attention", or "fuse-attention: 6 instance pairs, 1.21 x"
  std::optional<double> best_speedup;  // of the best so far beside the original
  double elapsed_s = 0, budget_s = 0;  // budget 0 = none
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void update(const Update&) {}
  // Something that stays on the screen: a verdict, a warning, why the search stopped.
  virtual void line(const std::string&) {}
  // Polled between measurement blocks; true = stop now (Error kInterrupted, exit 130, resumable).
  virtual bool cancelled() { return false; }
};

// The Run as it stands at the end: finished, or planned only (dry run). Everything `hone optimize --json` prints is
// Record::to_json(); failed items of run::checklist() mean exit status 1.
using Outcome = run::Record;

Result<Outcome> optimize(const OptimizeOptions& options, Listener& listener);

}  // namespace hone::loop
