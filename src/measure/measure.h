// Measurement and comparison of Configurations under a Protocol: the protocol of measuring.md section 3, in
// fresh worker processes, frozen when idle, in alternating blocks, only blocks of one place compared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/engine.h"
#include "measure/decide.h"
#include "measure/place.h"
#include "protocol/protocol.h"
#include "worker/worker.h"

namespace hone::measure {

struct Spread {  // milliseconds per inference
  double median = 0, q25 = 0, p5 = 0, p95 = 0, min = 0, mean = 0;
  int64_t samples = 0;
};

// Timed samples of one Configuration (product.md). h2d/d2h are absent for host engines.
struct Measurement {
  Spread execute_ms;
  std::optional<Spread> h2d_ms, d2h_ms;
  std::vector<double> samples_ms;  // every iteration
  int64_t peak_memory_bytes = 0;
  double open_seconds = 0;
  std::string place;  // "near", "far", "sibling", "one" (bare metal), "fake": see place.h
  std::string protocol_hash;
  std::vector<std::string> warnings;
  Json to_json() const;
  static Result<Measurement> from_json(const Json& value);
};

struct Comparison {
  Outcome outcome = Outcome::kUndecided;
  Decision decision = Decision::kUndecided;
  // B against A. After a look: its bounds (group-sequential lower, 95 % one-sided upper), at an early stop slightly
  // optimistic. Fixed number of pairs, or stopped before a look could decide: two-sided 95 %.
  Interval speedup;
  std::vector<Look> looks;
  InstancePairs pairs;  // in the reference place
  std::string place;
  double a_ms = 0, b_ms = 0;  // medians of the blocks' q25 in the reference place
  Spread a, b;                // over all iterations of the valid blocks there
  int64_t a_peak_bytes = 0, b_peak_bytes = 0;
  double seconds = 0;
  int retries = 0;
  double waited_s = 0;
  double sd = 0;  // of z
  std::vector<std::string> warnings;
  std::string protocol_hash;
  Json to_json() const;
  static Result<Comparison> from_json(const Json& value);
};

// The smallest speed-up that an A/A like this one lets anybody prove; nullopt when it has under two instance pairs.
std::optional<double> smallest_provable(const Comparison& comparison);

// A row of the journal's block table: everything measuring.md section 4 lists.
struct BlockRow {
  int pair = 0, slot = 0;
  char side = 'A';
  int pid = 0;
  worker::BlockResult block;
  std::string place;
  std::string invalid;  // reason; empty = valid
};

struct Progress {
  std::function<void(const BlockRow&)> on_block;
  std::function<void(int pairs, const Look*)> on_pair;  // after each instance pair
  std::function<bool()> cancelled;                      // polled between blocks; true -> Error kInterrupted
};

struct Bench {
  protocol::Protocol protocol;
  fs::path data;          // samples in worker form
  fs::path log_dir;       // worker logs go there
  std::vector<int> cpus;  // cpus_for(threads) of topology.h; empty = all
  uint64_t seed = 0;
  double budget_s = 0;  // 0 = none
  worker::Limits limits;
  Progress progress;
  Calibration calibration = default_calibration();  // machine_calibration(), read once, where a user measures
  std::shared_ptr<MachineWatch> watch;              // one for a whole Run; null: each comparison has its own
};

// One Measurement: `instances` fresh workers, blocks in each. The reference place as in compare().
Result<Measurement> measure(const engine::Configuration& what, const Bench& bench, int instances = 3,
                            double seconds = 2);
// Group-sequential comparison; stops at the first look that decides.
Result<Comparison> compare(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench,
                           const Rule& rule = {});
// Fixed number of instance pairs, no looks, two-sided 95 % interval: the Run's speed-up and the baseline's A/A.
Result<Comparison> compare_fixed(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench,
                                 int pairs = 12);
// A cheap screen (2 instance pairs of one block pair, short blocks) used to order settings; never a verdict. Returns
// the A/B time ratio: > 1 = B is faster.
Result<double> screen(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench);

}  // namespace hone::measure
