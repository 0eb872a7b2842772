// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kRule = {"fuse-gelu"};

TEST(FuseGelu, FusesEveryWayOfWritingIt) {
  for (const char* body : {
           "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)",     // halved last
           "h = Mul(x, half) a = Div(x, root) b = Erf(a) c = Add(one, b) y = Mul(h, c)",     // halved first
           "a = Mul(x, inverse) b = Erf(a) c = Add(b, one) d = Mul(half, c) y = Mul(x, d)",  // 0.7071, halved inside
           "a = Mul(inverse, x) b = Erf(a) h = Mul(b, half) c = Add(h, half) y = Mul(c, x)",
           "a = Div(x, root) b = Erf(a) h = Mul(x, half) e = Mul(h, b) y = Add(h, e)",  // multiplied out
           "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Div(d, two)",
       }) {
    const auto done = rewritten(kRule, fmt::format(R"(agraph (float[N, 7] x) => (float[N, 7] y)
      <float root = {{1.4142135}}, float inverse = {{0.70710677}}, float one = {{1}}, float half = {{0.5}}, float two = {{2}}>
      {{ {} }})",
                                                   body));
    EXPECT_EQ(done.lines, "y = com.microsoft.Gelu(x)\n") << body;
    EXPECT_THAT(done.why, IsEmpty());
    expect_same_outputs(done, kRule);
  }
}

TEST(FuseGelu, UsesTheStandardOperatorFromOpset20) {
  const auto done = rewritten(kRule, R"(agraph (float[N, 7] x) => (float[N, 7] y)
    <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
    a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)
  })",
                              20);
  EXPECT_EQ(done.lines, "y = Gelu(x)\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseGelu, TakesTheWholeSumForX) {
  const auto done = rewritten(kRule, R"(agraph (float[N, 7] w, float[7] b) => (float[N, 7] y)
    <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
    x = Add(w, b) a = Div(x, root) e = Erf(a) c = Add(e, one) d = Mul(x, c) y = Mul(d, half)
  })");
  EXPECT_EQ(done.lines, "%1 = Add(w, b)\ny = com.microsoft.Gelu(%1)\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseGelu, SaysWhyNot) {
  const auto read_twice = rewritten(kRule, R"(agraph (float[N] x) => (float[N] y, float[N] e)
    <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
    a = Div(x, root) e = Erf(a) c = Add(e, one) d = Mul(x, c) y = Mul(d, half)
  })");
  EXPECT_EQ(read_twice.fired, 0U);
  EXPECT_THAT(read_twice.why,
              ElementsAre("Erf -> e: 'e' of Erf -> e is read more than once before the formula is complete"));
  const auto other_constant = rewritten(kRule, R"(agraph (float[N] x) => (float[N] y)
    <float root = {1.4142135}, float one = {1}, float half = {0.6}> {
    a = Div(x, root) e = Erf(a) c = Add(e, one) d = Mul(x, c) y = Mul(d, half)
  })");
  EXPECT_THAT(other_constant.why,
              ElementsAre("Erf -> e: 'y' of Mul -> y is read more than once before the formula is complete"));
  const auto other_x = rewritten(kRule, R"(agraph (float[N] x, float[N] z) => (float[N] y)
    <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
    a = Div(x, root) e = Erf(a) c = Add(e, one) d = Mul(z, c) y = Mul(d, half)
  })");
  EXPECT_THAT(other_x.why, ElementsAre("Erf -> e: Mul -> d is not part of the formula of Erf -> e"));
  const auto no_gelu = rewritten(kRule, R"(agraph (float[N] x) => (float[N] y) { y = Erf(x) })");
  EXPECT_THAT(no_gelu.why, IsEmpty());
}

TEST(FuseGelu, LeavesOtherTypes) {
  // float16 is written as its bits: 1.4141, 1, 0.5.
  const auto done = rewritten(kRule, R"(agraph (float16[N] x) => (float16[N] y)
    <float16 root = {15784}, float16 one = {15360}, float16 half = {14336}> {
    a = Div(x, root) e = Erf(a) c = Add(e, one) d = Mul(x, c) y = Mul(d, half)
  })");
  EXPECT_THAT(done.why, ElementsAre("Erf -> e: the graph input 'x' is float16, and ONNX Runtime has the fused kernel "
                                    "for float32 only"));
}

}  // namespace
