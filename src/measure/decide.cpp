// SPDX-License-Identifier: Apache-2.0
#include "measure/decide.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/statistics.h"

namespace hone::measure {

namespace {

// The sd that is used: never below the floor. With 4 values a lucky small sd gave the only false keep ever seen
// (measuring.md section 2).
double used_sd(const InstancePairs& pairs) { return std::max(sample_sd(pairs), sd_floor(pairs)); }

}  // namespace

std::string_view to_text(Decision decision) {
  switch (decision) {
    case Decision::kGoOn:
      return "go_on";
    case Decision::kKeep:
      return "keep";
    case Decision::kRollBack:
      return "roll_back";
    case Decision::kUndecided:
      break;
  }
  return "undecided";
}

std::string_view to_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFaster:
      return "faster";
    case Outcome::kSlower:
      return "slower";
    case Outcome::kSame:
      return "same";
    case Outcome::kUndecided:
      break;
  }
  return "undecided";
}

std::vector<double> pair_means(const InstancePairs& pairs) {
  std::vector<double> z;
  z.reserve(pairs.size());
  for (const auto& y : pairs) {
    HONE_CHECK(!y.empty());
    z.push_back(mean_of(y));
  }
  return z;
}

double sample_sd(const InstancePairs& pairs) {
  if (pairs.size() < 2) return 0;
  const auto z = pair_means(pairs);
  const double mean = mean_of(z);
  double squares = 0;
  for (const double v : z) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(z.size() - 1));
}

double sd_floor(const InstancePairs& pairs) {
  double squares = 0, degrees = 0, lengths = 0;
  for (const auto& y : pairs) {
    const double mean = mean_of(y);
    for (const double v : y) squares += (v - mean) * (v - mean);
    degrees += static_cast<double>(y.size()) - 1;
    lengths += static_cast<double>(y.size());
  }
  if (degrees <= 0) return 0;
  const double mean_length = lengths / static_cast<double>(pairs.size());
  return std::sqrt(squares / degrees / mean_length);
}

Look look_at(const InstancePairs& pairs, const Rule& rule, size_t index) {
  HONE_CHECK(index < rule.looks.size() && rule.looks.size() == rule.levels.size(), "look {}", index);
  const size_t n = static_cast<size_t>(rule.looks[index]);
  HONE_CHECK(n >= 2 && pairs.size() >= n, "{} of {}", pairs.size(), n);
  const InstancePairs used(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(n));
  Look look;
  look.pairs = rule.looks[index];
  look.level = rule.levels[index];
  look.mean = mean_of(pair_means(used));
  look.sample_sd = sample_sd(used);
  look.sd = used_sd(used);
  look.floor_used = look.sd > look.sample_sd;
  const double error = look.sd / std::sqrt(static_cast<double>(n));
  const double degrees = static_cast<double>(n) - 1;
  const double wide = t_quantile(1 - look.level, degrees) * error;
  const double usual = t_quantile(.95, degrees) * error;
  look.low = look.mean - wide;
  look.high_level = look.mean + wide;
  look.low95 = look.mean - usual;
  look.high = look.mean + usual;
  return look;
}

Decision decide(const Look& look, const Rule& rule, bool last) {
  const double bar = std::log(rule.minimum_effect);
  if (look.low > bar) return Decision::kKeep;
  if (look.high < bar) return Decision::kRollBack;
  return last ? Decision::kUndecided : Decision::kGoOn;
}

Outcome outcome_of(const Look& look, const Rule& rule) {
  const double bar = std::log(rule.minimum_effect);
  if (look.low > bar) return Outcome::kFaster;
  // "same" goes before "slower": a loss that is surely under 3 % is noise too (product.md rule 3).
  if (look.high < bar && look.low95 > -bar) return Outcome::kSame;
  if ((rule.until_outcome ? look.high_level : look.high) < 0) return Outcome::kSlower;
  return Outcome::kUndecided;
}

Interval fixed_interval(const InstancePairs& pairs) {
  Interval interval;
  if (pairs.empty()) return {1, 0, std::numeric_limits<double>::infinity()};
  const double mean = mean_of(pair_means(pairs));
  interval.estimate = std::exp(mean);
  if (pairs.size() < 2) return {interval.estimate, 0, std::numeric_limits<double>::infinity()};
  const double half = half_width(used_sd(pairs), static_cast<int>(pairs.size()));
  interval.low = std::exp(mean - half);
  interval.high = std::exp(mean + half);
  return interval;
}

double half_width(double sd, int pairs) {
  return t_quantile(.975, pairs - 1) * sd / std::sqrt(static_cast<double>(pairs));
}

// 3 % + 0.65 s at R = 24 (measuring.md section 3), as a ratio.
double smallest_provable(double sd) { return std::exp(std::log(kMinimumEffect) + 0.65 * sd); }

}  // namespace hone::measure
