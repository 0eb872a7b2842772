// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kRule = {"fold-constants"};

TEST(FoldConstants, ComputesShapeArithmeticOfConstants) {
  const auto done = rewritten(kRule, R"(agraph (float[6] x) => (float[?,?] y)
    <int64[1] two = {2}, int64 three = {3}, int64[1] axis = {0}> {
    a = Unsqueeze(three, axis)
    s = Concat<axis = 0>(two, a)
    y = Reshape(x, s) })");
  EXPECT_EQ(done.lines, "y = Reshape(x, int64{2,3})\n");
  expect_same_outputs(done, kRule);
}

TEST(FoldConstants, TakesDimsThatAreNumbersInTheGraph) {
  const auto done = rewritten(kRule, R"(agraph (float[N,3,4] x) => (float[M] y) <int64 one = {1}, int64[1] axis = {0}> {
    s = Shape(x)
    c = Gather(s, one)
    u = Unsqueeze(c, axis)
    y = Tile(z, u)
    z = Constant<value = float[1] {2.5}>()
    })");
  EXPECT_EQ(done.lines, "y = Tile({2.5}, int64{3})\n");
}

TEST(FoldConstants, LeavesAnOpenDimOpen) {
  const auto done = rewritten(kRule, R"(agraph (float[N,2,3] x) => (float[N,6] y)
    <int64 zero = {0}, int64[1] axis = {0}, int64[1] six = {6}> {
    s = Shape(x)
    n = Gather<axis = 0>(s, zero)
    u = Unsqueeze(n, axis)
    sh = Concat<axis = 0>(u, six)
    y = Reshape(x, sh) })");
  EXPECT_EQ(done.fired, 0U);
  expect_same_outputs(done, kRule);
}

TEST(FoldConstants, TurnsConstantNodesIntoInitializers) {
  const auto done = rewritten(kRule, R"(agraph (float[2] x) => (float[2] y) {
    c = Constant<value_floats = [1.0, 2.0]>()
    y = Add(x, c) })");
  EXPECT_EQ(done.lines, "y = Add(x, {1,2})\n");
  EXPECT_EQ(done.fired, 1U);
}

TEST(FoldConstants, DoesNotInflateTheModel) {
  const auto done = rewritten(
      kRule, R"(agraph (float[1000,1000] x) => (float[1000,1000] y) <float[1,1] one = {1}, int64[2] s = {1000, 1000}> {
    e = Expand(one, s)
    y = Add(x, e) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Expand -> e: Expand -> e: its result would make the model larger"));
}

TEST(FoldConstants, LeavesGraphOutputsToTheirNodes) {
  const auto done = rewritten(kRule, "agraph (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { y = Add(a, a) }");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Add -> y: Add -> y makes the graph output 'y'"));
}

TEST(FoldConstants, NeverTakesADefaultForAConstant) {
  // b is a graph input with a default value: a caller may feed another.
  const auto done =
      rewritten(kRule, "agraph (float[2] x, float[2] b = {1, 2}) => (float[2] y) { n = Neg(b) y = Add(x, n) }");
  EXPECT_EQ(done.lines, "%1 = Neg(b)\ny = Add(x, %1)\n");
}

TEST(FoldConstants, NeverFoldsRandomNumbers) {
  const auto done = rewritten(
      kRule, "agraph (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { r = RandomUniformLike(a) y = Add(x, r) }");
  EXPECT_EQ(done.fired, 0U);
}

TEST(FoldConstants, GivesTheBitsThatTheEngineGives) {
  // One node of each arithmetic kind; the sum of all reaches the output.
  const auto done = rewritten(kRule, R"(agraph (float[3] x) => (float[3] y)
    <float[3] a = {0.1, -2.7, 1e-40}, float[3] b = {3.3, 0.7, 7.1}, float two = {2}, float three = {3}, int64[1] first = {0}> {
    c = Add(a, b) d = Sub(a, b) e = Mul(a, b) f = Div(a, b) g = Sqrt(b) h = Pow(a, two) i = Pow(b, three)
    j = Reciprocal(b) k = Floor(a) l = Ceil(a) m = Abs(a) n = Neg(a) o = Max(a, b) p = Min(a, b)
    q = Less(a, b) r = Where(q, a, b) s = Cast<to = 10>(a) t = Cast<to = 1>(s) u = Cast<to = 6>(b) v = Cast<to = 1>(u)
    z = Sum(c, d, e, f, g, h, i, j, k, l, m, n, o, p, r, t, v)
    y = Add(x, z) })");
  EXPECT_EQ(done.lines,
            "%1 = Sum({3.4,-2,7.1}, {-3.2,-3.4,-7.1}, {0.33,-1.89,7.09996e-40}, {0.030303,-3.85714,1.40845e-41}, "
            "{1.81659,0.83666,2.66458}, {0.01,7.29,0}, {35.937,0.343,357.911}, {0.30303,1.42857,0.140845}, {0,-3,0}, "
            "{1,-2,1}, {0.1,2.7,9.99995e-41}, {-0.1,2.7,-9.99995e-41}, {3.3,0.7,7.1}, {0.1,-2.7,9.99995e-41}, "
            "{0.1,-2.7,9.99995e-41}, {0.0999756,-2.69922,0}, {3,0,7})\ny = Add(x, %1)\n");
  expect_same_outputs(done, kRule);
}

TEST(FoldConstants, MovesDataAsTheEngineDoes) {
  const auto done = rewritten(kRule, R"(agraph (float[4] x) => (float[?,?,?] y)
    <float[2,3] a = {1, 2, 3, 4, 5, 6}, int64[1] last = {-1}, int64[1] low = {-9223372036854775807}, int64[1] minus = {-1},
     int64[1] one = {1}, int64[2] reps = {2, 2}, int64[2] at = {1, -1}, int64[3] big = {2, 2, 3}> {
    b = Transpose(a)
    c = Slice(b, last, low, one, minus)
    d = Tile(c, reps)
    e = Gather<axis = 0>(d, at)
    f = Expand(a, big)
    g, h = Split<axis = 1>(e)
    i = Concat<axis = 1>(g, h)
    j = ReduceMax<axes = [0], keepdims = 0>(i)
    k = Add(x, j)
    l = Unsqueeze(k, big2)
    big2 = Constant<value = int64[2] {0, 1}>()
    m = Slice(f, zero, one, one)
    zero = Constant<value = int64[1] {0}>()
    n = ReduceSum<keepdims = 1>(m)
    y = Add(l, n) })");
  expect_same_outputs(done, kRule);
  EXPECT_GT(done.fired, 8U);
}

}  // namespace
