// merge-transposes, merge-reshapes.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kTransposes = {"merge-transposes"};
const std::vector<std::string> kReshapes = {"merge-reshapes"};

TEST(MergeTransposes, MakesOneOfTwo) {
  const auto done = rewritten(kTransposes, R"(agraph (float[A,2,3,4] x) => (float[?,?,?,?] y) {
    a = Transpose<perm = [0, 2, 3, 1]>(x) y = Transpose<perm = [3, 0, 1, 2]>(a) })");
  EXPECT_EQ(done.lines, "y = Transpose<perm=[1,0,2,3]>(x)\n");
  expect_same_outputs(done, kTransposes);
}

TEST(MergeTransposes, MakesNothingOfTwoThatUndoEachOther) {
  const auto done = rewritten(kTransposes, R"(agraph (float[A,2,3,4] x) => (float[A,2,3,4] y) {
    a = Transpose<perm = [0, 2, 3, 1]>(x) b = Transpose<perm = [0, 3, 1, 2]>(a) y = Relu(b) })");
  EXPECT_EQ(done.lines, "y = Relu(x)\n");
  expect_same_outputs(done, kTransposes);
}

TEST(MergeTransposes, KeepsTheFirstForItsOtherReaders) {
  const auto done = rewritten(kTransposes, R"(agraph (float[2,3] x) => (float[2,3] y, float[3,2] z) {
    a = Transpose(x) b = Transpose(a) y = Relu(b) z = Neg(a) })");
  EXPECT_EQ(done.lines, "%1 = Transpose(x)\ny = Relu(x)\nz = Neg(%1)\n");
  expect_same_outputs(done, kTransposes);
}

TEST(MergeTransposes, RefusesAReversalOfUnknownRank) {
  const auto done = rewritten(
      kTransposes, "agraph (float x, int64[K] s) => (float y) { r = Reshape(x, s) a = Transpose(r) y = Transpose(a) }");
  EXPECT_THAT(done.why, ElementsAre("Transpose -> y: the rank of 'r' of Reshape -> r is not known"));
}

TEST(MergeReshapes, KeepsTheLastShapeOnly) {
  const auto done =
      rewritten(kReshapes, R"(agraph (float[2,3,4] x) => (float[?,?] y) <int64[1] flat = {-1}, int64[2] s = {4, -1}> {
    a = Reshape(x, flat) b = Unsqueeze(a, zero) zero = Constant<value = int64[1] {0}>() y = Reshape(b, s) })");
  EXPECT_EQ(done.lines, "y = Reshape(x, int64{4,-1})\n");
  expect_same_outputs(done, kReshapes);
}

TEST(MergeReshapes, WritesOutADimThatIsCopied) {
  const auto done =
      rewritten(kReshapes, R"(agraph (float[2,3,4] x) => (float[?,?] y) <int64[2] s = {6, 4}, int64[2] t = {0, -1}> {
    a = Reshape(x, s) y = Reshape(a, t) })");
  EXPECT_EQ(done.lines, "y = Reshape(x, int64{6,-1})\n");
  expect_same_outputs(done, kReshapes);
}

TEST(MergeReshapes, RefusesToCopyADimThatIsNotANumber) {
  const auto done = rewritten(
      kReshapes, R"(agraph (float[N,3,4] x) => (float[?,?,?] y) <int64[2] s = {-1, 4}, int64[3] t = {0, 2, 2}> {
    a = Reshape(x, s) y = Reshape(a, t) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(
      done.why,
      ElementsAre("Reshape -> y: the shape of Reshape 'y' copies dim 0 of 'a' of Reshape -> a, which is not a number"));
  expect_same_outputs(done, kReshapes);
}

TEST(MergeReshapes, LeavesAReshapeThatMakesTheShapeOperand) {
  const auto done = rewritten(kReshapes, R"(agraph (float[4] x, int64[2,1] s) => (float[?,?] y) <int64[1] flat = {-1}> {
    sh = Reshape(s, flat) y = Reshape(x, sh) })");
  EXPECT_EQ(done.fired, 0U);
}

TEST(MergeReshapes, TakesOutASqueezeThatAnUnsqueezeUndoes) {
  const auto done = rewritten(kReshapes, R"(agraph (float[N,1,4] x) => (float[N,1,4] y) <int64[1] one = {1}> {
    a = Squeeze(x, one) b = Unsqueeze(a, one) y = Relu(b) })");
  EXPECT_EQ(done.lines, "y = Relu(x)\n");
  expect_same_outputs(done, kReshapes);
}

}  // namespace
