// SPDX-License-Identifier: Apache-2.0
#include "verdict/verdict.h"

#include <fmt/format.h>

namespace hone::verdict {

namespace {

std::string interval_text(const measure::Interval& speedup) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", speedup.estimate, speedup.low, speedup.high);
}

std::string pairs_text(const measure::Comparison& comparison) {
  return fmt::format("{} instance pairs", comparison.looks.empty() ? static_cast<int>(comparison.pairs.size())
                                                                   : comparison.looks.back().pairs);
}

// What the trial could have shown: an undecided Change below this size is no surprise (measuring.md section 3).
std::string provable_text(const measure::Comparison& comparison) {
  if (comparison.sd <= 0) return "";
  return fmt::format("; below {:.1f} % nothing could be proven here",
                     (measure::smallest_provable(comparison.sd) - 1) * 100);
}

std::string rolled_back_reason(const measure::Comparison& comparison, double minimum) {
  const auto& speedup = comparison.speedup;
  if (speedup.high < 1) return fmt::format("slower: {}, {}", interval_text(speedup), pairs_text(comparison));
  if (comparison.decision == measure::Decision::kRollBack)
    return fmt::format("noise: {}, {}: a gain under {:.0f} % is never called one", interval_text(speedup),
                       pairs_text(comparison), (minimum - 1) * 100);
  return fmt::format("noise: {}, {}: undecided{}", interval_text(speedup), pairs_text(comparison),
                     provable_text(comparison));
}

}  // namespace

std::string_view to_text(Kind kind) {
  switch (kind) {
    case Kind::kKept:
      return "kept";
    case Kind::kRolledBack:
      return "rolled_back";
    case Kind::kFailed:
      return "failed";
    case Kind::kSkipped:
      break;
  }
  return "skipped";
}

Result<Kind> kind_from(std::string_view text) {
  for (Kind kind : {Kind::kKept, Kind::kRolledBack, Kind::kFailed, Kind::kSkipped})
    if (to_text(kind) == text) return kind;
  return fail(bad_input("unknown verdict", std::string(text), "known: kept, rolled_back, failed, skipped"));
}

Verdict judge(const measure::Comparison& comparison, const accuracy::Report& accuracy) {
  if (!accuracy.passed) return inaccurate(accuracy);
  const measure::Rule rule;
  if (comparison.looks.empty())
    return {
        Kind::kRolledBack,
        fmt::format("undecided: only {} of the {} instance pairs that a verdict needs could be measured; the machine "
                    "is busy or the budget small",
                    comparison.pairs.size(), rule.looks.front())};
  const auto& speedup = comparison.speedup;
  // The decision is the rule's; that the interval says the same is a promise of measure/, held here once more because
  // a false "kept" is the one mistake hone must not make.
  if (comparison.decision == measure::Decision::kKeep && speedup.low > rule.minimum_effect)
    return {Kind::kKept, fmt::format("{} times as fast, {}, accuracy within the gate", interval_text(speedup),
                                     pairs_text(comparison))};
  return {Kind::kRolledBack, rolled_back_reason(comparison, rule.minimum_effect), speedup.high >= 1};
}

Verdict inaccurate(const accuracy::Report& accuracy) {
  return {Kind::kRolledBack, "accuracy: " + (accuracy.why.empty() ? std::string("outside the gate") : accuracy.why)};
}

Verdict failed(const Error& error) { return {Kind::kFailed, error.line()}; }

Verdict skipped(std::string reason) { return {Kind::kSkipped, std::move(reason)}; }

}  // namespace hone::verdict
