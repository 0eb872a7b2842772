// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kRule = {"fold-reshape-target"};

TEST(FoldReshapeTarget, WritesZeroForDimsOfItsData) {
  const auto done = rewritten(kRule, R"(agraph (float[N,S,8] x) => (float[?,?,?,?] y)
    <int64 i0 = {0}, int64 i1 = {1}, int64[1] a = {0}, int64[2] rest = {2, 4}> {
    s = Shape(x) b = Gather(s, i0) c = Gather(s, i1) d = Unsqueeze(b, a) e = Unsqueeze(c, a)
    t = Concat<axis = 0>(d, e, rest) y = Reshape(x, t) })");
  EXPECT_EQ(done.lines, "y = Reshape(x, int64{0,0,2,4})\n");
  expect_same_outputs(done, kRule);
}

TEST(FoldReshapeTarget, FollowsSymbolsThroughOtherValues) {
  const auto done = rewritten(
      kRule,
      R"(agraph (float[N,2,3] x) => (float[?,?] y) <int64[1] first = {0}, int64[1] one = {1}, int64[1] rest = {-1}> {
    u = Transpose<perm = [0, 2, 1]>(x) s = Shape(x) b = Slice(s, first, one)
    t = Concat<axis = 0>(b, rest) y = Reshape(u, t) })");
  EXPECT_EQ(done.lines, "%1 = Transpose<perm=[0,2,1]>(x)\ny = Reshape(%1, int64{0,-1})\n");
  expect_same_outputs(done, kRule);
}

TEST(FoldReshapeTarget, OpensOneDimWhenAllOthersAreNumbers) {
  const auto done = rewritten(
      kRule,
      R"(agraph (float[6,N] x) => (float[?,?,?] y) <int64[1] one = {1}, int64[1] two = {2}, int64[2] rest = {2, 3}> {
    s = Shape(x) b = Slice(s, one, two) t = Concat<axis = 0>(rest, b) y = Reshape(x, t) })");
  EXPECT_EQ(done.lines, "y = Reshape(x, int64{2,3,-1})\n");
  expect_same_outputs(done, kRule);
}

TEST(FoldReshapeTarget, RefusesAnOpenDimBesideACopiedOne) {
  // With a batch of 0 the -1 would have no answer, where the original has one.
  const auto done = rewritten(kRule, R"(agraph (float[N,6] x, float[K] u) => (float[?,?,?] y) <int64[1] six = {6}> {
    s = Shape<end = 1>(x) k = Shape(u) t = Concat<axis = 0>(s, k, six) y = Reshape(x, t) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(
      done.why,
      ElementsAre("Reshape -> y: 1 elements of the target of Reshape -> y are neither numbers nor dims of its data"));
}

TEST(FoldReshapeTarget, LeavesATargetThatComesFromValues) {
  const auto done = rewritten(kRule, R"(agraph (float[N] x, int64[2] s) => (float[?,?] y) { y = Reshape(x, s) })");
  EXPECT_EQ(done.fired, 0U);
}

}  // namespace
