// Stop: when going on makes no sense, with the evidence (artifacts.md section 6). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "run/record.h"

namespace hone::loop {

struct StopFacts {
  const run::Record& record;
  const std::vector<run::Planned>& open;      // that could be tried next
  const std::vector<run::Planned>& left_out;  // screened out: open in name, under 3 %
  double elapsed_s = 0;
};

// Every condition that holds, in the order goal, noise, external, hardware, exhausted, budget: the first is the Run's
// stop reason. Empty = go on.
std::vector<run::Stop> stop_conditions(const StopFacts& facts);

// Whether the goal seems met by estimates, which a comparison with the original then has to confirm.
bool goal_seems_met(const run::Record& record);

// Instance pairs of the final re-measurement: kFinalPairs, or more, up to kMostFinalPairs, when the A/A's spread says
// that its interval would be wider than 3 % to either side and `seconds` allows.
int final_pairs(const run::Record& record, double seconds);

// Seconds one instance pair takes here, from the A/A; and what is kept back of a budget for the final re-measurement.
double pair_seconds(const run::Record& record);
double final_seconds(const run::Record& record);

inline constexpr int kNoisePairs = 6;       // of the baseline's A/A (measuring.md section 5)
inline constexpr int kFinalPairs = 12;      // of the final re-measurement (measuring.md section 3)
inline constexpr int kMostFinalPairs = 24;  // as many as a trial's last look

}  // namespace hone::loop
