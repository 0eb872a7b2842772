// The pure parts of the ablation: a comparison turned around, what is judged, and what is worth removing.
// SPDX-License-Identifier: Apache-2.0
#include "loop/ablation.h"

#include <gtest/gtest.h>

#include <random>

namespace hone::loop {
namespace {

// As a Lab makes it: looks at so many pairs until the rule decides.
measure::Comparison compared(double speedup, double sd, uint64_t seed, int most_pairs = 24) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, sd);
  const measure::Rule rule;
  measure::Comparison c;
  for (size_t look = 0; look < rule.looks.size() && rule.looks[look] <= most_pairs; ++look) {
    while (static_cast<int>(c.pairs.size()) < rule.looks[look])
      c.pairs.push_back({std::log(speedup) + noise(random), std::log(speedup) + noise(random)});
    const measure::Look& l = c.looks.emplace_back(measure::look_at(c.pairs, rule, look));
    c.decision = measure::decide(l, rule, look + 1 == rule.looks.size());
    c.outcome = measure::outcome_of(l, rule);
    c.speedup = {std::exp(l.mean), std::exp(l.low), std::exp(l.high)};
    if (c.decision != measure::Decision::kGoOn) break;
  }
  if (c.decision == measure::Decision::kGoOn) c.decision = measure::Decision::kUndecided;
  c.a_ms = 10, c.b_ms = 10 / speedup;
  c.a.median = 11, c.b.median = 9;
  c.a_peak_bytes = 1, c.b_peak_bytes = 2;
  return c;
}

TEST(Turned, TwiceIsTheSame) {
  for (const double speedup : {0.8, 0.97, 1.0, 1.02, 1.04, 1.3})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const measure::Comparison c = compared(speedup, 0.03, seed);
      EXPECT_EQ(dump_json(turned(turned(c)).to_json()), dump_json(c.to_json())) << speedup;
    }
}

TEST(Turned, TwiceIsTheSameWhenItWasStoppedBetweenLooks) {
  measure::Comparison c = compared(1.04, 0.05, 1, 4);
  ASSERT_EQ(c.decision, measure::Decision::kUndecided);
  c.pairs.push_back({0.1, 0.02});
  c.speedup = measure::fixed_interval(c.pairs);
  EXPECT_EQ(dump_json(turned(turned(c)).to_json()), dump_json(c.to_json()));
  measure::Comparison none;
  none.speedup = measure::fixed_interval({});
  EXPECT_EQ(dump_json(turned(turned(none)).to_json()), dump_json(none.to_json()));
}

TEST(Turned, SaysWhatTheRuleSaysOfTheSidesSwapped) {
  const measure::Comparison c = compared(1.3, 0.02, 3), back = turned(c);
  EXPECT_EQ(c.decision, measure::Decision::kKeep);
  EXPECT_EQ(back.decision, measure::Decision::kRollBack);
  EXPECT_EQ(back.outcome, measure::Outcome::kSlower);
  measure::InstancePairs swapped = c.pairs;
  for (auto& pair : swapped)
    for (double& y : pair) y = -y;
  const measure::Look l = measure::look_at(swapped, {}, c.looks.size() - 1), &turned_look = back.looks.back();
  EXPECT_NEAR(turned_look.low, l.low, 1e-12);
  EXPECT_NEAR(turned_look.high, l.high, 1e-12);
  EXPECT_NEAR(turned_look.low95, l.low95, 1e-12);
  EXPECT_NEAR(turned_look.high_level, l.high_level, 1e-12);
  EXPECT_NEAR(back.speedup.low, std::exp(l.low), 1e-12);
  EXPECT_EQ(back.a_ms, c.b_ms);
  EXPECT_EQ(back.b.median, c.a.median);
}

TEST(JudgeRemoval, AsksWhatATrialAsks) {
  accuracy::Report fine;
  // Best beside the best without X, as measured; in the journal it is turned around.
  const auto judged = [&](const measure::Comparison& asked) { return judge_removal(turned(asked), fine, "x"); };
  EXPECT_EQ(judged(compared(1.2, 0.02, 1)).kind, verdict::Kind::kRolledBack) << "X still pays";
  EXPECT_EQ(judged(compared(1.0, 0.01, 1)).kind, verdict::Kind::kKept) << "X is dropped";
  const measure::Comparison undecided = compared(1.035, 0.05, 1, 4);
  ASSERT_EQ(undecided.decision, measure::Decision::kUndecided);
  EXPECT_EQ(judged(undecided).kind, verdict::Kind::kRolledBack);
  fine.passed = false;
  EXPECT_EQ(judge_removal(turned(compared(1.0, 0.01, 1)), fine, "x").kind, verdict::Kind::kRolledBack);
}

run::Trial kept(int number, const std::string& change, const std::string& kind, const fs::path& model) {
  run::Trial t;
  t.number = number;
  t.parent = number - 1;
  t.state = run::State::kJudged;
  t.proposal.change = change;
  t.kind = kind;
  t.configuration.model = model;
  t.verdict = verdict::Verdict{verdict::Kind::kKept, "", false};
  return t;
}

TEST(NextToRemove, IsNothingThatAnEngineChangeDiscardedAndNotThatEngine) {
  run::Record record;
  run::Trial baseline;
  baseline.number = 0;
  baseline.configuration.model = "m.onnx";
  record.trials = {baseline, kept(1, "fuse", "graph", "1.onnx"), kept(2, "engine", "engine", "m.onnx"),
                   kept(3, "other", "graph", "3.onnx"), kept(4, "last", "graph", "4.onnx")};
  EXPECT_EQ(next_to_remove(record), "other") << "`fuse` is not there, and the engine stands on the original";
  record.trials[2].configuration.model = "1.onnx";  // it took the rewritten model over
  EXPECT_EQ(next_to_remove(record), "fuse");
}

}  // namespace
}  // namespace hone::loop
