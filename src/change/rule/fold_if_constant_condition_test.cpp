// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kRule = {"fold-if-constant-condition"};

TEST(FoldIfConstantCondition, PutsTheTakenBranchInPlace) {
  const auto done = rewritten(kRule, R"(agraph (float[2] x) => (float[2] y) <bool no = {0}> {
    a = Relu(x)
    b = If(no) <then_branch = yes () => (float[2] t) { t = Neg(a) },
                else_branch = no () => (float[2] e) <float[2] k = {3, 4}> { u = Mul(a, k) e = Abs(u) }>
    y = Sqrt(b) })");
  EXPECT_EQ(done.lines, "%1 = Relu(x)\n%2 = Mul(%1, {3,4})\n%3 = Abs(%2)\ny = Sqrt(%3)\n");
  expect_same_outputs(done, kRule);
}

TEST(FoldIfConstantCondition, GivesUniqueNamesToBranchesThatUseTheSame) {
  const auto done = rewritten(kRule, R"(agraph (float[2] x) => (float[2] y) <bool yes = {1}> {
    a = If(yes) <then_branch = t1 () => (float[2] v) <float[2] k = {3, 4}> { t = Mul(x, k) v = Neg(t) },
                 else_branch = e1 () => (float[2] v) <float[2] k = {5, 6}> { t = Mul(x, k) v = Abs(t) }>
    b = If(yes) <then_branch = t2 () => (float[2] v) <float[2] k = {5, 6}> { t = Mul(x, k) v = Abs(t) },
                 else_branch = e2 () => (float[2] v) <float[2] k = {3, 4}> { t = Mul(x, k) v = Neg(t) }>
    y = Add(a, b) })");
  EXPECT_EQ(done.fired, 2U);
  EXPECT_TRUE(done.after.check().has_value());
  expect_same_outputs(done, kRule);
}

TEST(FoldIfConstantCondition, KeepsNamesOfGraphOutputsAndOfInnerSubgraphs) {
  const auto done = rewritten(kRule, R"(agraph (float[2] x, bool c) => (float[2] y, float[2] z) <bool yes = {1}> {
    y, z = If(yes) <then_branch = outer () => (float[2] p, float[2] q) {
              u = Neg(x)
              p = If(c) <then_branch = in1 () => (float[2] r) { r = Abs(u) },
                         else_branch = in2 () => (float[2] r) { r = Mul(u, x) }>
              q = Identity(x) },
            else_branch = other () => (float[2] p, float[2] q) { p = Identity(x) q = Neg(x) }> })");
  EXPECT_EQ(done.lines,
            "%1 = Neg(x)\ny = If<else_branch={\n  r = Mul(" +
                done.after.graph().value(done.after.graph().node(done.after.graph().order()[0]).output(0)).name +
                ", x)\n}, then_branch={\n  r = Abs(" +
                done.after.graph().value(done.after.graph().node(done.after.graph().order()[0]).output(0)).name +
                ")\n}>(c)\nz = Identity(x)\n");
  EXPECT_THAT(done.why, ElementsAre("If: the condition the graph input 'c' of If 'If' is not a constant"));
  expect_same_outputs(done, kRule);
}

TEST(FoldIfConstantCondition, LeavesAConditionThatIsComputed) {
  const auto done = rewritten(kRule, R"(agraph (float[2] x, bool c) => (float[2] y) {
    y = If(c) <then_branch = t () => (float[2] v) { v = Neg(x) }, else_branch = e () => (float[2] v) { v = Abs(x) }> })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("If -> y: the condition the graph input 'c' of If -> y is not a constant"));
}

}  // namespace
