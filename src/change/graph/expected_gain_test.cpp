// SPDX-License-Identifier: Apache-2.0
#include "change/graph/expected_gain.h"

#include <gtest/gtest.h>

#include "support/context.h"
#include "support/rewriting.h"

namespace hone::change {
namespace {

using test::TestContext;

// Conv, its scale, HardSwish as four nodes, Conv; all named.
constexpr std::string_view kChain = R"(
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4,6,6] x) => (float[1,4,6,6] y)
  <float[4,4,1,1] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}, float three = {3}, float zero = {0}, float six = {6}> {
  [first] c = Conv(x, w)
  [add] a = Add(c, three)
  [clip] b = Clip(a, zero, six)
  [mul] m = Mul(c, b)
  [div] d = Div(m, six)
  [last] y = Conv(d, w)
})";

void add_time(diagnose::Diagnosis& diagnosis, std::string node, std::string type, double ms, double roof_ms = 0) {
  diagnose::OperatorTime op;
  op.node = std::move(node);
  op.type = std::move(type);
  op.ms = ms;
  op.roof_ms = roof_ms;
  diagnosis.operators.push_back(std::move(op));
  diagnosis.latency_ms += ms;
}

void time_chain(diagnose::Diagnosis& diagnosis, double each) {
  for (const auto& [node, type] : {std::pair{"add", "Add"}, {"clip", "Clip"}, {"mul", "Mul"}, {"div", "Div"}})
    add_time(diagnosis, node, type, each);
  add_time(diagnosis, "first", "Conv", 3);
  add_time(diagnosis, "last", "Conv", 3);
}

TEST(ExpectedGain, IsTheTimeOfTheNodesThatGo) {
  TestContext test(kChain);
  time_chain(test.diagnosis, 1);
  const Proposal p = test.proposals("fuse-hardswish").front();
  EXPECT_NEAR(p.upper_bound, 10.0 / 6.0, 1e-9);
  EXPECT_GT(p.predicted, 1.2);
  EXPECT_LT(p.predicted, p.upper_bound);
}

TEST(ExpectedGain, CanBeBelowWhatCanBeProven) {
  TestContext test(kChain);
  time_chain(test.diagnosis, 0.01);
  const Proposal p = test.proposals("fuse-hardswish").front();
  EXPECT_GT(p.upper_bound, 1.0);
  EXPECT_LT(p.upper_bound, 1.03) << "no stop condition could hold while it is open";
}

TEST(ExpectedGain, HasTheLayoutConversionsAroundTheChain) {
  TestContext plain(kChain), converted(kChain);
  time_chain(plain.diagnosis, 1);
  time_chain(converted.diagnosis, 1);
  add_time(converted.diagnosis, "ReorderOutput_1", "ReorderOutput", 1);
  EXPECT_NEAR(converted.proposals("fuse-hardswish")[0].upper_bound, 11.0 / 6.0, 1e-9);
  EXPECT_GT(converted.proposals("fuse-hardswish")[0].upper_bound, plain.proposals("fuse-hardswish")[0].upper_bound);
}

TEST(ExpectedGain, HasThePartOfTheTimeOutsideOfKernels) {
  TestContext test(kChain);
  time_chain(test.diagnosis, 1);
  test.diagnosis.outside_ms = 6;  // 1 ms an operator, 4 of 6 go
  test.diagnosis.latency_ms += 6;
  EXPECT_NEAR(test.proposals("fuse-hardswish")[0].upper_bound, 16.0 / 8.0, 1e-9);
}

TEST(ExpectedGain, WithoutTimesIsTheStatedDefault) {
  TestContext test(kChain);
  const Proposal p = test.proposals("fuse-hardswish").front();
  EXPECT_GE(p.upper_bound, 1.03);
  EXPECT_LT(p.predicted, p.upper_bound);
}

TEST(ExpectedGain, IsNoneWhereTheEngineFusedTheNodesAlready) {
  TestContext test(kChain);
  add_time(test.diagnosis, "first", "Conv", 3);
  add_time(test.diagnosis, "last", "Conv", 3);
  EXPECT_EQ(test.proposals("fuse-hardswish")[0].upper_bound, 1.0);
}

TEST(ExpectedGain, OfAProductWhoseWorkGoesOnIsWhatIsOverItsLeastTime) {
  const auto before = test::model_of(
      "agraph (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1,2,3,4}> { [one] a = MatMul(x, w) [two] y = MatMul(a, "
      "w) }");
  const auto after =
      test::model_of("agraph (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1,2,3,4}> { [both] y = Gemm(x, w) }");
  diagnose::Diagnosis diagnosis;
  add_time(diagnosis, "one", "MatMul", 5, 4);
  add_time(diagnosis, "two", "MatMul", 5, 4);
  EXPECT_NEAR(expected_gain(before.graph(), after.graph(), diagnosis).upper_bound, 10.0 / 8.0, 1e-9);
}

TEST(ExpectedGain, CountsANodeUnderANewNameAsTheSame) {
  const auto before = test::model_of("agraph (float[2] x) => (float[2] y) { [one] a = Relu(x) [two] y = Neg(a) }");
  const auto after = test::model_of("agraph (float[2] x) => (float[2] y) { [new] a = Relu(x) [two] y = Neg(a) }");
  diagnose::Diagnosis diagnosis;
  add_time(diagnosis, "one", "Relu", 5);
  add_time(diagnosis, "two", "Neg", 1);
  EXPECT_EQ(expected_gain(before.graph(), after.graph(), diagnosis).predicted, 1.0);
}

TEST(ExpectedGain, CountsTheNodesOfAnInlinedBranchAsTheSame) {
  TestContext test(R"(
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] y) <bool c = {1}> {
  [if] y = If(c) <then_branch = t () => (float[1,4] a) { [abs] u = Abs(x) [neg] a = Neg(u) },
                  else_branch = e () => (float[1,4] b) { [exp] b = Exp(x) }>
})");
  add_time(test.diagnosis, "if", "If", 1);
  add_time(test.diagnosis, "abs", "Abs", 4);
  add_time(test.diagnosis, "neg", "Neg", 5);
  EXPECT_NEAR(test.proposals("clean-graph")[0].upper_bound, 10.0 / 9.0, 1e-9);
}

TEST(ExpectedGain, OfFixedShapesIsMoreThanOfTheFoldingAlone) {
  const Gain folding{1.1, 1.05}, fixed = with_fixed_shapes(folding);
  EXPECT_GT(fixed.upper_bound, folding.upper_bound);
  EXPECT_GT(fixed.predicted, folding.predicted);
}

TEST(GraphChange, NamesTheFindingOfTheRulesThatFired) {
  TestContext test(kChain);
  test.finding("unfused_batchnorm", 1.9).finding("unfused_activation", 1.2).finding("small_kernels", 1.1);
  EXPECT_EQ(test.proposals("fuse-hardswish")[0].finding, "unfused_activation");
  EXPECT_EQ(test.proposals("fuse-graph")[0].finding, "unfused_activation");
}

}  // namespace
}  // namespace hone::change
