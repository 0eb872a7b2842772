// Coordinator: the protocol of measuring.md section 3, without processes. It starts instance pairs, waits for the
// reference place, alternates blocks, drops disturbed block pairs, repeats them, looks and decides.
//
// Seeds of everything random (start order, ABBA or BAAB, the fake engine's noise) come from the seed, the number of the
// instance pair and the side alone, so the same comparison is the same again, whatever the machine did in between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "measure/blocks.h"
#include "measure/measure.h"

namespace hone::measure {

struct Plan {
  Rule rule;
  int fixed_pairs = 0;            // > 0: so many instance pairs, no looks
  int most_attempts = 36;         // abandon after so many instance pairs, whatever place they were in
  int block_pairs = 2;            // P
  int extra_block_pairs = 3;      // retries per instance pair
  double longest_wait_s = 3;      // for the reference place, per instance pair
  double poll_s = .1;             // of the canary while waiting
  double highest_pressure = .20;  // PSI `some` share of a timed part
  bool same_configuration = false;
  uint64_t seed = 0;
  double budget_s = 0;  // 0 = none
};

Result<Comparison> run_comparison(BlockSource& source, const Plan& plan, const Calibration& calibration,
                                  MachineWatch& watch, const Progress& progress);

// One Configuration, side A of the source: `instances` fresh ones, so many seconds of blocks in each. Every block
// counts, also a disturbed one, since it is this machine as it is; a warning says how many there were.
Result<Measurement> run_measurement(BlockSource& source, const Bench& bench, MachineWatch& watch, int instances,
                                    double seconds_each);

// What is random in instance pair `pair`.
struct Draw {
  bool b_starts_first = false;
  bool baab = false;  // else ABBA
};
Draw draw_for(uint64_t seed, int pair);
uint64_t instance_seed(uint64_t seed, int pair, char side);

// The share of a block in which somebody else had our CPU, as well as this kernel can tell.
struct Disturbance {
  enum class Source { kPressure, kRunQueue, kProcStat } source = Source::kPressure;
  double share = 0;
};
Disturbance disturbance(const worker::BlockResult& block);

Spread spread_of(std::vector<double> samples_ms);

}  // namespace hone::measure
