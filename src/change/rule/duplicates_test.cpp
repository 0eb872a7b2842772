// remove-dead-nodes, merge-duplicate-initializers, merge-duplicate-nodes.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;

const std::vector<std::string> kDead = {"remove-dead-nodes"};
const std::vector<std::string> kInitializers = {"merge-duplicate-initializers"};
const std::vector<std::string> kNodes = {"merge-duplicate-nodes"};

TEST(RemoveDeadNodes, RemovesChainsNobodyReads) {
  const auto done = rewritten(
      kDead, "agraph (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Neg(x) b = Add(a, w) y = Abs(x) }");
  EXPECT_EQ(done.lines, "y = Abs(x)\n");
  EXPECT_EQ(done.fired, 2U);
  EXPECT_EQ(done.after.graph().find_value("w"), hone::model::kNoValue);
  expect_same_outputs(done, kDead);
}

TEST(RemoveDeadNodes, KeepsWhatASubgraphReads) {
  const auto done = rewritten(kDead, R"(agraph (float[2] x, bool c) => (float[2] y) {
    a = Neg(x)
    y = If(c) <then_branch = t () => (float[2] v) { v = Abs(a) }, else_branch = e () => (float[2] v) { v = Identity(x) d = Exp(x) }> })");
  EXPECT_EQ(done.fired, 1U);
  EXPECT_NE(done.lines.find("Neg"), std::string::npos);
  EXPECT_EQ(done.lines.find("Exp"), std::string::npos);
  expect_same_outputs(done, kDead);
}

TEST(RemoveDeadNodes, KeepsGraphInputsThatNobodyReads) {
  const auto done = rewritten(kDead, "agraph (float[2] x, float[2] unused) => (float[2] y) { y = Abs(x) }");
  EXPECT_EQ(done.after.graph().inputs().size(), 2U);
}

TEST(MergeDuplicateInitializers, KeepsOneOfEqualTensors) {
  const auto done = rewritten(kInitializers, R"(agraph (float[2] x) => (float[2] y)
    <float[2] a = {1, 2}, float[2] b = {1, 2}, float[1,2] c = {1, 2}, float[2] d = {1, 3}> {
    p = Add(x, a) q = Mul(p, b) r = Add(q, d) y = Mul(r, a) })");
  EXPECT_EQ(done.fired, 1U);
  EXPECT_EQ(done.after.graph().find_value("b"), hone::model::kNoValue);
  expect_same_outputs(done, kInitializers);
}

TEST(MergeDuplicateInitializers, TellsMinusZeroFromZeroAndNumbersFromTypes) {
  const auto done = rewritten(kInitializers, R"(agraph (float[1] x) => (float[1] y, int32[1] z)
    <float[1] a = {0.0}, float[1] b = {-0.0}, int32[1] c = {0}> { p = Add(x, a) y = Add(p, b) z = Identity(c) })");
  EXPECT_EQ(done.fired, 0U);
}

TEST(MergeDuplicateInitializers, LeavesDefaultsOfGraphInputs) {
  const auto done = rewritten(
      kInitializers,
      "agraph (float[1] x, float[1] b = {1}) => (float[1] y) <float[1] a = {1}> { p = Add(x, a) y = Add(p, b) }");
  EXPECT_EQ(done.fired, 0U);
}

TEST(MergeDuplicateNodes, MergesEqualChainsInOnePass) {
  const auto done = rewritten(kNodes, R"(agraph (float[2] x) => (float[2] y) {
    a = Neg(x) b = Abs(a) c = Neg(x) d = Abs(c) y = Add(b, d) })");
  EXPECT_EQ(done.lines, "%1 = Neg(x)\n%2 = Abs(%1)\ny = Add(%2, %2)\n");
  EXPECT_EQ(done.fired, 2U);
  expect_same_outputs(done, kNodes);
}

TEST(MergeDuplicateNodes, LeavesNodesThatDifferInAnAttributeOrAnInput) {
  const auto done = rewritten(kNodes, R"(agraph (float[2] x, float[2] u) => (float[2] y) {
    a = LeakyRelu<alpha = 0.1>(x) b = LeakyRelu<alpha = 0.2>(x) c = LeakyRelu<alpha = 0.1>(u) y = Sum(a, b, c) })");
  EXPECT_EQ(done.fired, 0U);
}

TEST(MergeDuplicateNodes, NeverMergesRandomNodes) {
  const auto done = rewritten(
      kNodes,
      "agraph (float[2] x) => (float[2] y) { a = RandomUniformLike(x) b = RandomUniformLike(x) y = Sub(a, b) }");
  EXPECT_EQ(done.fired, 0U);
}

TEST(MergeDuplicateNodes, KeepsTwoGraphOutputsTwo) {
  const auto done = rewritten(kNodes, "agraph (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Neg(x) }");
  EXPECT_EQ(done.fired, 0U);
}

TEST(MergeDuplicateNodes, GivesTheNameToTheOneThatStays) {
  const auto done =
      rewritten(kNodes, "agraph (float[2] x) => (float[2] z, float[2] y) { a = Neg(x) y = Abs(a) z = Neg(x) }");
  EXPECT_EQ(done.lines, "z = Neg(x)\ny = Abs(z)\n");
  expect_same_outputs(done, kNodes);
}

}  // namespace
