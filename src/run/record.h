// Record: everything a Run knows about itself, in memory: what reports, `hone runs` and the loop's decisions read.
//
// It is loaded from the journal of a run directory (run/journal.h) and holds no handle: a value. Paths are relative to
// the run directory when they lie inside it. Decisions and reports are functions of a Record and of nothing else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/accuracy.h"
#include "change/change.h"
#include "diagnose/diagnosis.h"
#include "engine/engine.h"
#include "measure/measure.h"
#include "protocol/protocol.h"
#include "run/plan.h"
#include "verdict/verdict.h"

namespace hone::run {

enum class Stage { kBaseline, kP0, kP1, kP2, kCombination, kFinal };
std::string_view to_text(Stage stage);  // "baseline", "P0", "P1", "P2", "combination", "final"
Result<Stage> stage_from(std::string_view text);

// created -> prepared -> converted -> measured -> judged; each arrow is one transaction after its files are in place.
enum class State { kCreated, kPrepared, kConverted, kMeasured, kJudged };
std::string_view to_text(State state);
Result<State> state_from(std::string_view text);

// The id of the ablation's own change: "without[change=fuse-gelu]" removes a kept Change again.
inline constexpr std::string_view kWithout = "without";

struct Trial {
  int number = 0;   // 0 = baseline; the number of its patch folder; never reused
  int parent = -1;  // the best at that time: what it was measured beside; -1 for the baseline
  Stage stage = Stage::kP2;
  State state = State::kCreated;
  change::Proposal proposal;            // proposal.change is empty for baseline and final
  std::string kind;                     // change::to_text of the Change's kind; "ablation" for kWithout
  engine::Configuration configuration;  // from kPrepared on
  std::string summary;                  // what apply() did: "12 nodes fused into 2 MultiHeadAttention"
  int64_t nodes_before = -1, nodes_after = -1;
  std::optional<accuracy::Report> accuracy;         // against the accuracy reference, not against the parent
  std::optional<measure::Measurement> measurement;  // of the baseline
  std::optional<measure::Comparison> comparison;    // this (B) beside its parent (A); final: beside the original
  std::optional<verdict::Verdict> verdict;          // from kJudged on; absent for baseline and final
  std::optional<measure::Interval> vs_original;     // product along the kept chain; final: measured
  std::string dir;                                  // "step3_patches/patch_001_fuse-gelu"
  std::string started;                              // UTC
  double seconds = 0;

  bool kept() const { return verdict && verdict->kind == verdict::Kind::kKept; }
  // How it ended, in one word: "kept", "rolled_back", "noise" (rolled back because nothing was proven), "failed",
  // "skipped"; "-" before a verdict. Tables print it, reports make sentences of it.
  std::string_view outcome() const;
  // The name tables show: the proposal's key, "baseline" or "final".
  std::string title() const;
};

// A profile and its diagnosis: of the baseline and of each new best.
struct ProfileRow {
  int trial = 0;
  std::string dir;  // "step1_profile" or the trial's prof/
  diagnose::Diagnosis diagnosis;
};

// A cheap look at a setting, used to order and to leave out; never a verdict.
struct ScreenRow {
  int best = 0;  // beside which trial
  std::string engine, key;
  double speedup = 1;
};

struct Stop {
  std::string reason;    // goal, noise, external, hardware, exhausted, budget, interrupted
  std::string evidence;  // one sentence with its numbers
};

struct Event {
  std::string at;    // UTC
  std::string kind;  // "started", "resumed", "warning", "dropped", "finished", ...
  std::string text;
};

// A Change that would be tried now, with why it stands where it stands: what --dry-run lists.
struct Planned {
  change::Proposal proposal;
  std::string kind;
  double value = 0;   // predicted gain x chance / cost, log ratio per second
  double chance = 0;  // as updated by what happened so far
  std::string note;   // "screened: 1.02 x in 2 instance pairs"
};

enum class Progress { kRunning, kStopped, kFinished };  // stopped: the search has ended, ablation or final still to do

struct Record {
  fs::path folder;  // the run directory, absolute
  std::string id, created, ended, hone_version;
  Progress progress = Progress::kRunning;
  Plan plan;
  std::string model_sha256;
  int64_t model_bytes = 0;
  std::map<std::string, std::string> environment;  // keys of manifest.txt
  std::optional<protocol::Protocol> protocol;
  std::string data_source;                        // "samples/ (12 .npz files)"
  std::vector<std::string> data_notes;            // what was assumed about the data
  bool has_reference = false;                     // reference/ holds the accuracy reference's outputs
  std::vector<Trial> trials;                      // by number, baseline first, final last
  std::optional<measure::Comparison> noise;       // the baseline beside itself: the A/A of this Run
  std::optional<measure::Comparison> goal_check;  // best beside original, when the goal seemed met
  int goal_check_of = -1;                         // the trial it was made for
  std::vector<ProfileRow> profiles;
  std::vector<ScreenRow> screens;
  std::vector<change::Proposal> proposals;  // open when the search ended (for reports) or now (dry run)
  std::vector<Planned> planned;             // filled by --dry-run only
  std::vector<Stop> stops;                  // the first is the reason; others were true too
  std::vector<Event> events;
  double elapsed_s = 0;  // over all sessions of the Run

  const Trial* baseline() const;
  const Trial* final_trial() const;  // the re-measurement of best beside the original; nullptr before or when none
  const Trial* trial(int number) const;
  // The trial whose configuration is the current best: the last kept one, else the baseline (nullptr before it).
  const Trial* best() const;
  // Trials whose changes are in trial `number`'s configuration, in order. Not in it: a dropped one (ablation), and what
  // an engine change after it discarded: the engine before, its settings, and, when it went back to the original model,
  // the graph changes and quantizations made for it.
  std::vector<const Trial*> chain(int number) const;
  // An engine change that went back to the original model from a changed one (change/setting/engine.cpp).
  bool restarts(const Trial& trial) const;
  const ProfileRow* profile_of(int trial) const;
  // The Run's speed-up: the final re-measurement; when nothing was kept, the A/A (best is the original).
  std::optional<measure::Interval> speedup() const;
  std::optional<double> baseline_ms() const, best_ms() const;
  // The document of `hone optimize --json` (product.md).
  Json to_json() const;
};

}  // namespace hone::run
