// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::rewritten;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kRule = {"remove-identity"};

TEST(RemoveIdentity, TakesOutEveryNodeThatChangesNothing) {
  const auto done = rewritten(kRule, R"(agraph (float[N,2] x) => (float[N,2] y)
    <int64[2] zeros = {0, 0}, int64[2] ends = {9223372036854775807, 9223372036854775807}, float one = {1}, float nought = {-0.0},
     int64[4] no_pads = {0, 0, 0, 0}> {
    a = Identity(x)
    b = Dropout(a)
    c = Cast<to = 1>(b)
    d = Transpose<perm = [0, 1]>(c)
    e = Concat<axis = 0>(d)
    f = Slice(e, zeros, ends)
    g = Mul(one, f)
    h = Div(g, one)
    i = Add(h, nought)
    j = Pad(i, no_pads)
    y = Relu(j) })");
  EXPECT_EQ(done.lines, "y = Relu(x)\n");
  EXPECT_EQ(done.fired, 10U);
}

TEST(RemoveIdentity, TakesOutAReshapeToTheShapeThatIsThere) {
  const auto done = rewritten(kRule, R"(agraph (float[3,2] x) => (float[3,2] y) <int64[2] shape = {3, 2}> {
    a = Reshape(x, shape) y = Relu(a) })");
  EXPECT_EQ(done.lines, "y = Relu(x)\n");
}

TEST(RemoveIdentity, LeavesWhatChangesShapeTypeOrValue) {
  const std::string_view graph = R"(agraph (float[N,2] x, int32[N,2] k) => (float[?,?,?] y, float[M,2] z, float[N,2] w)
    <float[1,1,1] one = {1}, int64[2] s = {-1, 2}, float[1] nought = {0}> {
    y = Mul(x, one)
    z = Reshape(x, s)
    c = Cast<to = 1>(k)
    w = Add(c, nought) })";
  const auto done = rewritten(kRule, graph);
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Mul -> y: Mul -> y may widen the graph input 'x': its constant has 3 dims"));
}

TEST(RemoveIdentity, KeepsADropoutWhoseMaskIsRead) {
  const auto done =
      rewritten(kRule, "agraph (float[2] x) => (float[2] y, bool[2] m) { a, m = Dropout(x) y = Relu(a) }");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Dropout -> a: the mask of Dropout -> a is read"));
}

TEST(RemoveIdentity, KeepsADropoutInTraining) {
  const auto done = rewritten(kRule, R"(agraph (float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> {
    a = Dropout(x, r, t) y = Relu(a) })");
  EXPECT_THAT(done.why, ElementsAre("Dropout -> a: Dropout -> a is not proven to be in inference mode"));
}

TEST(RemoveIdentity, KeepsTheOneThatNamesAGraphInputAsOutput) {
  const auto done = rewritten(kRule, "agraph (float[2] x) => (float[2] y) { y = Identity(x) }");
  EXPECT_EQ(done.lines, "y = Identity(x)\n");
  EXPECT_THAT(done.why,
              ElementsAre("Identity -> y: Identity -> y gives the graph input 'x' the name of the graph output 'y'"));
}

TEST(RemoveIdentity, MovesTheNameOfAGraphOutput) {
  const auto done = rewritten(kRule, "agraph (float[2] x) => (float[2] y) { a = Relu(x) y = Identity(a) }");
  EXPECT_EQ(done.lines, "y = Relu(x)\n");
  EXPECT_THAT(done.why, IsEmpty());
}

TEST(RemoveIdentity, WorksInsideSubgraphs) {
  const auto done = rewritten(kRule, R"(agraph (bool c, float[2] x) => (float[2] y) {
    a = Identity(x)
    y = If(c) <then_branch = yes () => (float[2] t) { b = Identity(a) t = Relu(b) },
               else_branch = no () => (float[2] e) { e = Neg(a) }> })");
  EXPECT_EQ(done.fired, 2U);
  EXPECT_EQ(done.lines, "y = If<else_branch={\n  e = Neg(x)\n}, then_branch={\n  t = Relu(x)\n}>(c)\n");
}

}  // namespace
