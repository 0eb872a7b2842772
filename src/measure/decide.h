// Deciding: pure functions from block ratios to a decision with a known error rate (measuring.md section 2 and 3).
// No clock, no file, no process; tested by simulation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hone::measure {

// One entry per instance pair: the log ratios y = log(q25 A / q25 B) of its valid block pairs.
using InstancePairs = std::vector<std::vector<double>>;

struct Look {
  int pairs = 0;             // instance pairs used
  double mean = 0;           // of z, log ratio
  double sd = 0;             // that was used
  bool floor_used = false;   // sd was raised to the within-instance floor
  double level = 0;          // one-sided level of the lower bound
  double low = 0, high = 0;  // log bounds: group-sequential lower, 95 % one-sided upper
  double sample_sd = 0;
};

enum class Decision { kGoOn, kKeep, kRollBack, kUndecided };

struct Rule {
  double minimum_effect = 1.03;  // product.md rule 3
  std::vector<int> looks = {4, 6, 8, 12, 16, 24};
  std::vector<double> levels = {.00422, .00332, .00380, .00628, .00770, .01327};
};

// Statistics of the first `look` of `pairs`; `look` is an index into rule.looks.
Look look_at(const InstancePairs& pairs, const Rule& rule, size_t look);
Decision decide(const Look& look, const Rule& rule, bool last);

struct Interval {
  double estimate = 1, low = 1, high = 1;  // ratios, > 1 = B (the new one) is faster
};
// Two-sided 95 % t interval on instance-pair means, for the fixed-R final re-measurement.
Interval fixed_interval(const InstancePairs& pairs);
// The smallest true speed-up that is kept with 80 % power at the last look, from the sd of z: 3 % + 0.65 s.
double smallest_provable(double sd);

// Student's t: quantile by inversion of the regularized incomplete beta function.
double t_quantile(double probability, double degrees);

}  // namespace hone::measure
