// Deciding: pure functions from block ratios to a decision with a known error rate (measuring.md section 2 and 3).
// No clock, no file, no process; tested by simulation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace hone::measure {

// A gain counts from here on (product.md rule 3). Every threshold of "3 %" is this one.
inline constexpr double kMinimumEffect = 1.03;

// One entry per instance pair: the log ratios y = log(q25 A / q25 B) of its valid block pairs.
using InstancePairs = std::vector<std::vector<double>>;

struct Look {
  int pairs = 0;             // instance pairs used
  double mean = 0;           // of z, log ratio
  double sd = 0;             // that was used
  bool floor_used = false;   // sd was raised to the within-instance floor
  double level = 0;          // one-sided level of the lower bound
  double low = 0, high = 0;  // log bounds: group-sequential lower, 95 % one-sided upper: what decides
  double low95 = 0;          // the 95 % one-sided lower bound: for the word "same"
  double high_level = 0;     // the group-sequential upper bound: `low` with the sides swapped
  double sample_sd = 0;      // of z, without the floor
};

enum class Decision { kGoOn, kKeep, kRollBack, kUndecided };
enum class Outcome { kFaster, kSlower, kSame, kUndecided };  // of B against A: the words of `bench --vs`
std::string_view to_text(Decision decision);                 // "go_on", "keep", "roll_back", "undecided"
std::string_view to_text(Outcome outcome);                   // "faster", "slower", "same", "undecided"

struct Rule {
  double minimum_effect = kMinimumEffect;
  std::vector<int> looks = {4, 6, 8, 12, 16, 24};
  std::vector<double> levels = {.00422, .00332, .00380, .00628, .00770, .01327};  // spending .025 x R/24
  // False: stop at the first look that decides keep or roll back. True (`bench --vs`): a roll back whose word is still
  // "undecided" goes on to the next look; "slower" then needs the group-sequential bound, as "faster" always does.
  bool until_outcome = false;
};

// The mean of y of each instance pair.
std::vector<double> pair_means(const InstancePairs& pairs);
// The sd of z and the floor under it: sqrt(pooled within-instance variance of y / P), 0 when no pair has two y.
double sample_sd(const InstancePairs& pairs);
double sd_floor(const InstancePairs& pairs);

// Statistics of the first rule.looks[look] of `pairs`; HONE_CHECKs that there are so many.
Look look_at(const InstancePairs& pairs, const Rule& rule, size_t look);
Decision decide(const Look& look, const Rule& rule, bool last);
// faster: what is kept. same: within 3 % both ways. slower: surely below 1, and not "same".
Outcome outcome_of(const Look& look, const Rule& rule);

struct Interval {
  double estimate = 1, low = 1, high = 1;  // ratios, > 1 = B (the new one) is faster
};
// Two-sided 95 % t interval on instance-pair means (sd with the floor), for the fixed-R final re-measurement. With
// fewer than two pairs nothing is known: low = 0, high = infinity.
Interval fixed_interval(const InstancePairs& pairs);
// Half the width of that interval, as a log ratio, with `pairs` instance pairs whose means have this sd.
double half_width(double sd, int pairs);
// The smallest true speed-up that is kept with 80 % power at the last look, from the sd of z: 3 % + 0.65 s.
double smallest_provable(double sd);

// Student's t: distribution function by the regularized incomplete beta function, and its inverse.
double t_cdf(double t, double degrees);
double t_quantile(double probability, double degrees);

}  // namespace hone::measure
