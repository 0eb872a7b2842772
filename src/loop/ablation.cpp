// SPDX-License-Identifier: Apache-2.0
#include "loop/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hone::loop {

namespace {

bool removed_before(const std::string& key, const run::Record& record) {
  return std::any_of(record.trials.begin(), record.trials.end(), [&](const run::Trial& t) {
    return t.proposal.change == run::kWithout && t.proposal.params.at("change") == key;
  });
}

}  // namespace

std::optional<std::string> next_to_remove(const run::Record& record) {
  const run::Trial* best = record.best();
  if (best == nullptr) return std::nullopt;
  const std::vector<const run::Trial*> chain = record.chain(best->number);
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    if (removed_before(chain[i]->proposal.key(), record)) continue;
    const bool tuned_since = std::any_of(chain.begin() + static_cast<std::ptrdiff_t>(i) + 1, chain.end(),
                                         [](const run::Trial* t) { return t->kind == "setting"; });
    if (chain[i]->kind == "engine" && (tuned_since || record.restarts(*chain[i]))) continue;
    return chain[i]->proposal.key();
  }
  return std::nullopt;
}

change::Proposal removal_of(const std::string& key, const run::Record& record) {
  change::Proposal p;
  p.change = run::kWithout;
  p.params["change"] = key;
  p.hypothesis = key + " no longer pays beside the changes kept after it";
  p.predicted = 1;
  p.upper_bound = 1;
  p.accuracy = accuracy::Class::kExact;
  for (const run::Trial* t : record.chain(record.best()->number))
    if (t->proposal.key() != key) p.accuracy = std::max(p.accuracy, t->proposal.accuracy);
  return p;
}

measure::Comparison turned(const measure::Comparison& c) {
  measure::Comparison out = c;
  std::swap(out.a_ms, out.b_ms);
  std::swap(out.a, out.b);
  std::swap(out.a_peak_bytes, out.b_peak_bytes);
  for (auto& pair : out.pairs)
    for (double& y : pair) y = -y;
  for (measure::Look& look : out.looks) {
    look.mean = -look.mean;
    std::swap(look.low, look.high_level);
    std::swap(look.high, look.low95);
    for (double* bound : {&look.low, &look.high_level, &look.high, &look.low95}) *bound = -*bound;
  }
  // Stopped before its first look, or at a fixed number of pairs, nothing has decided.
  out.decision = measure::Decision::kUndecided;
  out.outcome = measure::Outcome::kUndecided;
  if (!out.looks.empty()) {
    out.decision = measure::decide(out.looks.back(), {}, true);
    out.outcome = measure::outcome_of(out.looks.back(), {});
  }
  if (!out.looks.empty() && out.looks.back().pairs == static_cast<int>(out.pairs.size())) {
    const measure::Look& last = out.looks.back();
    out.speedup = {std::exp(last.mean), std::exp(last.low), std::exp(last.high)};
  } else {
    out.speedup = measure::fixed_interval(out.pairs);
  }
  return out;
}

verdict::Verdict judge_removal(const measure::Comparison& c, const accuracy::Report& accuracy,
                               const std::string& removed) {
  if (!accuracy.passed) return verdict::inaccurate(accuracy);
  const measure::Comparison asked = turned(c);
  const measure::Interval& gain = asked.speedup;
  const std::string numbers = fmt::format("{:.3f} [{:.3f}, {:.3f}]", gain.estimate, gain.low, gain.high);
  switch (asked.decision) {
    case measure::Decision::kRollBack:
      return {verdict::Kind::kKept, fmt::format("{} is dropped: beside the others it gives {}", removed, numbers)};
    case measure::Decision::kKeep:
      return {verdict::Kind::kRolledBack, fmt::format("{} still pays: {}", removed, numbers)};
    default:
      return {verdict::Kind::kRolledBack,
              fmt::format("{} stays: its trial proved it, and removing it was undecided: {}", removed, numbers)};
  }
}

}  // namespace hone::loop
