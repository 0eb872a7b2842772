// SPDX-License-Identifier: Apache-2.0
#include "loop/choose.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hone::loop {
namespace {

Candidate candidate(const std::string& change, double predicted = 1.1, double chance = 0.5,
                    const std::string& kind = "graph") {
  Candidate c;
  c.kind = kind;
  c.proposal.change = change;
  c.proposal.predicted = predicted;
  c.proposal.upper_bound = std::max(predicted, 1.2);
  c.proposal.chance = chance;
  if (kind == "setting") c.proposal.params = {{change, "1"}};
  return c;
}

run::Record record() {
  run::Record r;
  run::Trial baseline;
  baseline.stage = run::Stage::kBaseline;
  baseline.state = run::State::kJudged;
  baseline.configuration.engine = "onnxruntime";
  baseline.measurement = measure::Measurement{};
  baseline.measurement->execute_ms.median = 10;
  r.trials = {baseline};
  r.protocol = protocol::Protocol{};
  r.protocol->synthetic = false;
  r.noise = measure::Comparison{};
  r.noise->sd = 0.02;
  r.noise->pairs.resize(6);
  return r;
}

void add(run::Record& r, const Candidate& c, verdict::Kind kind, double b_ms = 10) {
  run::Trial t;
  t.number = static_cast<int>(r.trials.size());
  t.parent = r.best()->number;
  t.state = run::State::kJudged;
  t.proposal = c.proposal;
  t.kind = c.kind;
  t.configuration = r.best()->configuration;
  t.verdict = verdict::Verdict{kind, "", kind == verdict::Kind::kRolledBack};
  if (kind != verdict::Kind::kFailed && kind != verdict::Kind::kSkipped) {
    t.comparison = measure::Comparison{};
    t.comparison->b_ms = b_ms;
  }
  r.trials.push_back(t);
}

std::vector<std::string> keys(const std::vector<run::Planned>& planned) {
  std::vector<std::string> out;
  for (const run::Planned& p : planned) out.push_back(p.proposal.key());
  return out;
}

TEST(Choose, OrdersByGainTimesChanceOverCost) {
  Candidate cheap = candidate("cheap", 1.1);
  cheap.proposal.cost_seconds = 1;
  EXPECT_EQ(
      keys(choose({candidate("small", 1.05), candidate("big", 1.5), cheap, candidate("unlikely", 1.5, 0.01)}, record())
               .open),
      (std::vector<std::string>{"cheap", "big", "small", "unlikely"}));
}

TEST(Choose, AnEngineThatTheBestHasLeftStaysClosed) {
  Candidate to_openvino = candidate("engine", 1.3, 0.5, "engine"), back = to_openvino;
  to_openvino.proposal.params = {{"engine", "openvino"}};
  back.proposal.params = {{"engine", "onnxruntime"}};
  run::Record r = record();
  EXPECT_EQ(keys(choose({to_openvino}, r).open), (std::vector<std::string>{"engine[engine=openvino]"}));
  add(r, to_openvino, verdict::Kind::kKept, 5);
  r.trials.back().configuration.engine = "openvino";
  EXPECT_TRUE(choose({back}, r).open.empty());
}

TEST(Choose, EqualOnesStayInTheOrderOfTheList) {
  EXPECT_EQ(keys(choose({candidate("b"), candidate("a"), candidate("c")}, record()).open),
            (std::vector<std::string>{"b", "a", "c"}));
}

TEST(Choose, AFailureLowersTheChanceOfItsLikeAndASuccessRaisesIt) {
  run::Record r = record();
  Candidate like = candidate("x"), other = candidate("other");
  const double prior = updated_chance(0.5, like, r);
  EXPECT_DOUBLE_EQ(prior, 0.5);
  add(r, candidate("x"), verdict::Kind::kRolledBack);
  const double same = updated_chance(0.5, like, r), kind = updated_chance(0.5, other, r);
  EXPECT_LT(same, kind);
  EXPECT_LT(kind, prior);
  EXPECT_DOUBLE_EQ(updated_chance(0.5, candidate("s", 1.1, 0.5, "setting"), r), prior) << "another kind";
  add(r, candidate("x"), verdict::Kind::kKept);
  EXPECT_GT(updated_chance(0.5, like, r), same);
}

TEST(Choose, ATriedOneIsClosedWhateverTheVerdict) {
  for (verdict::Kind kind : {verdict::Kind::kRolledBack, verdict::Kind::kFailed, verdict::Kind::kSkipped}) {
    run::Record r = record();
    add(r, candidate("x"), kind);
    EXPECT_TRUE(choose({candidate("x")}, r).open.empty());
  }
}

TEST(Choose, OnAnotherEngineItIsOpenAgain) {
  run::Record r = record();
  add(r, candidate("x"), verdict::Kind::kRolledBack);
  add(r, candidate("engine", 1.1, 0.5, "engine"), verdict::Kind::kKept, 8);
  r.trials.back().configuration.engine = "openvino";
  EXPECT_EQ(keys(choose({candidate("x")}, r).open), std::vector<std::string>{"x"});
}

TEST(Choose, ASettingIsOpenAgainWhenTheModelHasBecomeMuchFaster) {
  run::Record r = record();
  add(r, candidate("threads", 1.1, 0.5, "setting"), verdict::Kind::kRolledBack);
  add(r, candidate("fuse"), verdict::Kind::kKept, 9);
  EXPECT_TRUE(choose({candidate("threads", 1.1, 0.5, "setting")}, r).open.empty());
  add(r, candidate("fuse2"), verdict::Kind::kKept, 5);
  EXPECT_EQ(choose({candidate("threads", 1.1, 0.5, "setting")}, r).open.size(), 1u);
}

TEST(Choose, SeveralSettingsAreScreenedOneIsNot) {
  run::Record r = record();
  EXPECT_TRUE(choose({candidate("s", 1.1, 0.5, "setting"), candidate("g")}, r).to_screen.empty());
  const auto two = choose({candidate("s", 1.1, 0.5, "setting"), candidate("t", 1.1, 0.5, "setting")}, r);
  EXPECT_EQ(two.to_screen.size(), 2u);
}

TEST(Choose, AfterAKillBetweenTwoScreensTheSecondIsStillScreened) {
  run::Record r = record();
  r.screens = {{0, "onnxruntime", "s[s=1]", 1.0}};
  const auto rest = choose({candidate("s", 1.1, 0.5, "setting"), candidate("t", 1.1, 0.5, "setting")}, r);
  ASSERT_EQ(rest.to_screen.size(), 1u);
  EXPECT_EQ(rest.to_screen[0].proposal.change, "t");
}

TEST(Choose, AScreenReplacesThePredictionAndLeavesOutTheHopeless) {
  run::Record r = record();
  r.screens = {{0, "onnxruntime", "good[good=1]", 1.2},
               {0, "onnxruntime", "bad[bad=1]", 0.9},
               {0, "openvino", "other[other=1]", 0.9}};
  const auto choice = choose({candidate("bad", 1.3, 0.9, "setting"), candidate("good", 1.01, 0.1, "setting"),
                              candidate("other", 1.05, 0.1, "setting")},
                             r);
  EXPECT_EQ(keys(choice.open), (std::vector<std::string>{"good[good=1]", "other[other=1]"}));
  EXPECT_EQ(keys(choice.left_out), std::vector<std::string>{"bad[bad=1]"});
  EXPECT_DOUBLE_EQ(choice.open[0].proposal.predicted, 1.2);
  EXPECT_GT(choice.open[0].chance, 0.95);
  EXPECT_EQ(choice.open[0].note, "screened: 1.200 x in 2 instance pairs");
}

TEST(Choose, AScreenThatFindsNoDifferenceIsNotProofOfNone) {
  run::Record r = record();
  r.noise->sd = 0.06;  // a noisy model: a real 5 % could look like nothing
  r.screens = {{0, "onnxruntime", "s[s=1]", 1.0}};
  EXPECT_EQ(choose({candidate("s", 1.1, 0.5, "setting")}, r).open.size(), 1u);
}

TEST(Choose, LossyOnesWithoutDataAreSkippedWithTheReason) {
  run::Record r = record();
  Candidate lossy = candidate("int8", 2, 0.5, "quantize");
  lossy.proposal.accuracy = accuracy::Class::kLossy;
  EXPECT_TRUE(choose({lossy}, r).skip.empty());
  r.protocol->synthetic = true;
  const auto choice = choose({lossy}, r);
  EXPECT_TRUE(choice.open.empty());
  ASSERT_EQ(choice.skip.size(), 1u);
  EXPECT_TRUE(choice.skip[0].reason.starts_with("needs data"));
}

TEST(Choose, OnlyAndSkipAreChangeIds) {
  run::Record r = record();
  r.plan.only = {"a", "b"};
  r.plan.skip = {"b"};
  EXPECT_EQ(keys(choose({candidate("a"), candidate("b"), candidate("c")}, r).open), std::vector<std::string>{"a"});
}

TEST(Choose, AProposalWithoutAPredictionIsWorthALittleOfItsBound) {
  const double none = value_of(candidate("x", 1.0).proposal, 0.5);
  EXPECT_GT(none, 0);
  EXPECT_LT(none, value_of(candidate("x", 1.1).proposal, 0.5));
}

}  // namespace
}  // namespace hone::loop
