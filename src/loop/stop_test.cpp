// SPDX-License-Identifier: Apache-2.0
#include "loop/stop.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone::loop {
namespace {

run::Record record() {
  run::Record r;
  run::Trial baseline;
  baseline.stage = run::Stage::kBaseline;
  baseline.state = run::State::kJudged;
  baseline.measurement = measure::Measurement{};
  baseline.measurement->execute_ms.median = 10;
  baseline.measurement->peak_memory_bytes = 200'000'000;
  baseline.vs_original = measure::Interval{1, 1, 1};
  r.trials = {baseline};
  r.noise = measure::Comparison{};
  r.noise->speedup = {1.0, 0.98, 1.02};
  r.noise->a_ms = r.noise->b_ms = 10;
  r.noise->seconds = 6;
  r.noise->pairs.resize(6);
  run::ProfileRow profile;
  r.profiles = {profile};
  return r;
}

run::Planned open(const std::string& change, double predicted, double upper_bound, double chance = 0.5,
                  const std::string& kind = "graph") {
  run::Planned p;
  p.proposal.change = change;
  p.proposal.predicted = predicted;
  p.proposal.upper_bound = upper_bound;
  p.chance = chance;
  p.kind = kind;
  return p;
}

void add_noise(run::Record& r, double predicted) {
  run::Trial t;
  t.number = static_cast<int>(r.trials.size());
  t.parent = 0;
  t.state = run::State::kJudged;
  t.proposal.change = "n" + std::to_string(t.number);
  t.proposal.predicted = predicted;
  t.verdict = verdict::Verdict{verdict::Kind::kRolledBack, "noise", true};
  r.trials.push_back(t);
}

std::vector<std::string> reasons(const run::Record& r, const std::vector<run::Planned>& planned, double elapsed = 0,
                                 const std::vector<run::Planned>& left_out = {}) {
  std::vector<std::string> out;
  for (const run::Stop& stop : stop_conditions({r, planned, left_out, elapsed})) {
    EXPECT_FALSE(stop.evidence.empty());
    out.push_back(stop.reason);
  }
  return out;
}

using Reasons = std::vector<std::string>;

TEST(Stop, GoesOnWhileSomethingIsOpen) { EXPECT_EQ(reasons(record(), {open("a", 1.1, 1.3)}), Reasons{}); }

TEST(Stop, ExhaustedWhenNothingIsOpen) { EXPECT_EQ(reasons(record(), {}), Reasons{"exhausted"}); }

TEST(Stop, NoiseWhenNothingOpenCanGainThreePercent) {
  EXPECT_EQ(reasons(record(), {open("a", 1.02, 1.029)}), Reasons{"noise"});
  EXPECT_EQ(reasons(record(), {open("a", 1.02, 1.031)}), Reasons{});
  EXPECT_EQ(reasons(record(), {}, 0, {open("screened", 0.9, 0.95)}), Reasons{"noise"});
}

TEST(Stop, NoiseAfterThreeInARowWhenTheRestPromisesLess) {
  run::Record r = record();
  add_noise(r, 1.1);
  add_noise(r, 1.1);
  const std::vector<run::Planned> little = {open("a", 1.02, 1.2, 0.3)};
  EXPECT_EQ(reasons(r, little), Reasons{});
  add_noise(r, 1.1);
  EXPECT_EQ(reasons(r, little), Reasons{"noise"});
  EXPECT_EQ(reasons(r, {open("a", 1.15, 1.2, 0.01)}), Reasons{}) << "predicted more than those";
  EXPECT_EQ(reasons(r, {open("a", 1.09, 1.2, 0.5)}), Reasons{}) << "still worth a trial";
  r.trials[2].verdict->noise = false;
  EXPECT_EQ(reasons(r, little), Reasons{}) << "slower for sure is not noise";
}

TEST(Stop, AGoalIsMetByTheIntervalsEndAndNotByItsMiddle) {
  run::Record r = record();
  r.plan.goal = run::Goal{run::Goal::Kind::kSpeedup, 1.4};
  run::Trial best;
  best.number = 1;
  best.parent = 0;
  best.state = run::State::kJudged;
  best.proposal.change = "a";
  best.verdict = verdict::Verdict{verdict::Kind::kKept, "", false};
  best.vs_original = measure::Interval{1.5, 1.3, 1.7};
  best.comparison = measure::Comparison{};
  best.comparison->b_ms = 6.7;
  r.trials.push_back(best);
  const std::vector<run::Planned> more = {open("b", 1.1, 1.3)};
  EXPECT_TRUE(goal_seems_met(r));
  EXPECT_EQ(reasons(r, more), Reasons{}) << "only estimated so far";
  r.goal_check = measure::Comparison{};
  r.goal_check->speedup = {1.5, 1.39, 1.6};
  r.goal_check_of = 1;
  EXPECT_FALSE(goal_seems_met(r)) << "is checked once";
  EXPECT_EQ(reasons(r, more), Reasons{});
  r.goal_check->speedup.low = 1.41;
  EXPECT_EQ(reasons(r, more), Reasons{"goal"});
}

TEST(Stop, ALatencyGoalHoldsAtTheSlowEnd) {
  run::Record r = record();
  r.plan.goal = run::Goal{run::Goal::Kind::kLatencyMs, 10.1};
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}), Reasons{}) << "10 / 0.98 is 10.2 ms";
  r.plan.goal->value = 10.3;
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}), Reasons{"goal"});
}

TEST(Stop, AMemoryGoalIsThePeak) {
  run::Record r = record();
  r.plan.goal = run::Goal{run::Goal::Kind::kMemoryBytes, 1.9e8};
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}), Reasons{});
  r.plan.goal->value = 2.1e8;
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}), Reasons{"goal"});
}

TEST(Stop, TheBudgetKeepsTimeForOneTrialAndTheFinalMeasurement) {
  run::Record r = record();  // 1 s a pair: 8 for a trial, 12 for the end
  r.plan.budget_s = 100;
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}, 79), Reasons{});
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}, 81), Reasons{"budget"});
  r.plan.budget_s = 0;
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}, 1e9), Reasons{});
}

TEST(Stop, TheTrialsAreCountedWithoutTheSkippedOnes) {
  run::Record r = record();
  r.plan.max_trials = 2;
  add_noise(r, 1.1);
  add_noise(r, 1.1);
  r.trials[1].verdict->kind = verdict::Kind::kSkipped;
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}), Reasons{});
  r.trials[1].verdict->kind = verdict::Kind::kRolledBack;
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}), Reasons{"budget"});
}

TEST(Stop, HardwareWhenOnlySettingsAreLeftAtTheLimit) {
  run::Record r = record();
  diagnose::Finding limit;
  limit.id = "at_hardware_limit";
  limit.evidence = "MatMul at 91 % of 180 GFLOP/s";
  r.profiles[0].diagnosis.findings = {limit};
  EXPECT_EQ(reasons(r, {open("threads", 1.1, 1.3, 0.5, "setting")}), Reasons{"hardware"});
  EXPECT_EQ(reasons(r, {open("int8", 1.1, 1.3, 0.5, "quantize")}), Reasons{}) << "less work is under any limit";
}

TEST(Stop, ExternalWhenTheEngineItselfTakesMostOfTheTimeAndNothingAnswers) {
  run::Record r = record();
  diagnose::Finding outside;
  outside.id = "outside_kernel_time";
  outside.share = 0.7;
  outside.evidence = "0.7 of 1.0 ms";
  r.profiles[0].diagnosis.findings = {outside};
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}), Reasons{"external"});
  run::Planned answer = open("threads", 1.1, 1.3);
  answer.proposal.finding = "outside_kernel_time";
  EXPECT_EQ(reasons(r, {answer}), Reasons{});
  r.profiles[0].diagnosis.findings[0].share = 0.4;
  EXPECT_EQ(reasons(r, {open("a", 1.1, 1.3)}), Reasons{});
}

TEST(Stop, TheFirstIsTheReasonAndTheOthersAreListed) {
  run::Record r = record();
  r.plan.budget_s = 1;
  EXPECT_EQ(reasons(r, {open("a", 1.0, 1.01)}, 50), (Reasons{"noise", "budget"}));
}

TEST(FinalPairs, AreMoreWhereTheSpreadIsWideAndTheTimeAllows) {
  run::Record r = record();  // 1 s a pair
  r.noise->sd = 0.02;
  EXPECT_EQ(final_pairs(r, 1000), 12) << "within 1.3 % with 12";
  r.noise->sd = 0.06;
  const int more = final_pairs(r, 1000);
  EXPECT_GT(more, 12);
  EXPECT_LT(more, 24);
  EXPECT_LE(measure::half_width(0.06, more), std::log(1.03));
  EXPECT_GT(measure::half_width(0.06, more - 1), std::log(1.03));
  EXPECT_EQ(final_pairs(r, 14.5), 14) << "as many as there is time for";
  EXPECT_EQ(final_pairs(r, 1), 12) << "never fewer: the budget of the comparison ends it";
  r.noise->sd = 0.3;
  EXPECT_EQ(final_pairs(r, 1000), 24);
}

}  // namespace
}  // namespace hone::loop
