// SPDX-License-Identifier: Apache-2.0
#include "verdict/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone::verdict {
namespace {

measure::Comparison comparison(measure::Decision decision, double estimate, double low, double high, int pairs = 8) {
  measure::Comparison c;
  c.decision = decision;
  c.speedup = {estimate, low, high};
  measure::Look look;
  look.pairs = pairs;
  c.looks.push_back(look);
  c.sd = 0.02;
  return c;
}

TEST(Verdict, KeepsWhatIsFasterForSureAndAccurate) {
  const Verdict v = judge(comparison(measure::Decision::kKeep, 1.27, 1.21, 1.33), {});
  EXPECT_EQ(v.kind, Kind::kKept);
  EXPECT_EQ(v.reason, "1.270 [1.210, 1.330] times as fast, 8 instance pairs, accuracy within the gate");
  EXPECT_FALSE(v.noise);
}

TEST(Verdict, NeverKeepsAnIntervalThatReachesThreePercent) {
  EXPECT_EQ(judge(comparison(measure::Decision::kKeep, 1.06, 1.03, 1.09), {}).kind, Kind::kRolledBack);
  EXPECT_EQ(judge(comparison(measure::Decision::kUndecided, 1.06, 1.04, 1.09), {}).kind, Kind::kRolledBack);
}

TEST(Verdict, CallsASmallSureGainNoise) {
  const Verdict v = judge(comparison(measure::Decision::kRollBack, 1.02, 1.015, 1.025), {});
  EXPECT_EQ(v.kind, Kind::kRolledBack);
  EXPECT_TRUE(v.noise);
  EXPECT_EQ(v.reason, "noise: 1.020 [1.015, 1.025], 8 instance pairs: a gain under 3 % is never called one");
}

TEST(Verdict, SaysWhatAnUndecidedTrialCouldHaveShown) {
  const Verdict v = judge(comparison(measure::Decision::kUndecided, 1.018, 0.978, 1.06, 24), {});
  EXPECT_TRUE(v.noise);
  EXPECT_EQ(v.reason,
            "noise: 1.018 [0.978, 1.060], 24 instance pairs: undecided; below 4.3 % nothing could be proven here");
}

TEST(Verdict, WithoutALookNothingIsDecidedAndItIsNotCalledNoise) {
  measure::Comparison c = comparison(measure::Decision::kUndecided, 1.3, 0, INFINITY);
  c.looks.clear();
  c.pairs = {{0.2, 0.3}};
  const Verdict v = judge(c, {});
  EXPECT_EQ(v.kind, Kind::kRolledBack);
  EXPECT_FALSE(v.noise);
  EXPECT_TRUE(v.reason.starts_with("undecided: only 1 of the 4 instance pairs")) << v.reason;
}

TEST(Verdict, CallsASlowerOneSlowerAndNotNoise) {
  const Verdict v = judge(comparison(measure::Decision::kRollBack, 0.8, 0.75, 0.85, 4), {});
  EXPECT_EQ(v.kind, Kind::kRolledBack);
  EXPECT_FALSE(v.noise);
  EXPECT_EQ(v.reason, "slower: 0.800 [0.750, 0.850], 4 instance pairs");
}

TEST(Verdict, AccuracyOutweighsAnySpeed) {
  accuracy::Report report;
  report.passed = false;
  report.why = "output logits: cosine 0.91 < 0.99999";
  const Verdict v = judge(comparison(measure::Decision::kKeep, 3, 2.9, 3.1), report);
  EXPECT_EQ(v.kind, Kind::kRolledBack);
  EXPECT_EQ(v.reason, "accuracy: output logits: cosine 0.91 < 0.99999");
}

TEST(Verdict, AFailureCarriesItsError) {
  const Verdict v = failed(tool_failed("worker died by signal 11 (SIGSEGV)", "", "last lines: x"));
  EXPECT_EQ(v.kind, Kind::kFailed);
  EXPECT_EQ(v.reason, "worker died by signal 11 (SIGSEGV); last lines: x");
}

TEST(Verdict, EveryWordReadsBack) {
  for (Kind kind : {Kind::kKept, Kind::kRolledBack, Kind::kFailed, Kind::kSkipped})
    EXPECT_EQ(kind_from(to_text(kind)).value(), kind);
  EXPECT_FALSE(kind_from("accepted").has_value());
}

}  // namespace
}  // namespace hone::verdict
