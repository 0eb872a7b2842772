// fuse-hardsigmoid, fuse-hardswish.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kSigmoid = {"fuse-hardsigmoid"};
const std::vector<std::string> kSwish = {"fuse-hardswish"};
constexpr const char* kConstants =
    "<float three = {3}, float nought = {0}, float six = {6}, float sixth = {0.16666667}>";

std::string graph(std::string_view body) {
  return fmt::format("agraph (float[N,4] x) => (float[N,4] y) {} {{ {} }}", kConstants, body);
}

TEST(FuseHardsigmoid, TakesTheClippedSum) {
  const auto done = rewritten(kSigmoid, graph("a = Add(x, three) b = Clip(a, nought, six) y = Div(b, six)"));
  EXPECT_EQ(done.lines, "y = HardSigmoid<alpha=0.166667, beta=0.5>(x)\n");
  expect_same_outputs(done, kSigmoid);
}

TEST(FuseHardsigmoid, RefusesOtherBounds) {
  const auto done = rewritten(kSigmoid, graph("a = Add(x, three) b = Clip(a, three, six) y = Div(b, six)"));
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Div -> y: Clip -> b goes from 3 to 6, expected 0 to 6"));
}

TEST(FuseHardsigmoid, RefusesWhenTheClipIsReadElsewhere) {
  const auto done = rewritten(kSigmoid, R"(agraph (float[N,4] x) => (float[N,4] y, float[N,4] z)
    <float three = {3}, float nought = {0}, float six = {6}> { a = Add(x, three) b = Clip(a, nought, six) y = Div(b, six) z = Neg(b) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Div -> y: Clip -> b also feeds Neg -> z"));
}

TEST(FuseHardswish, TakesTheChainInEveryOrder) {
  for (const char* body : {"a = Add(x, three) b = Clip(a, nought, six) c = Mul(x, b) y = Div(c, six)",
                           "a = Add(three, x) b = Clip(a, nought, six) c = Mul(b, x) y = Mul(c, sixth)",
                           "a = Add(x, three) b = Clip(a, nought, six) c = Div(b, six) y = Mul(x, c)"}) {
    const auto done = rewritten(kSwish, graph(body));
    EXPECT_EQ(done.lines, "y = HardSwish(x)\n") << body;
    expect_same_outputs(done, kSwish);
  }
}

TEST(FuseHardswish, WritesTwoOperatorsBeforeOpset14) {
  const auto done =
      rewritten(kSwish, graph("a = Add(x, three) b = Clip(a, nought, six) c = Mul(x, b) y = Div(c, six)"), 12);
  EXPECT_EQ(done.lines, "%1 = HardSigmoid<alpha=0.166667, beta=0.5>(x)\ny = Mul(x, %1)\n");
  expect_same_outputs(done, kSwish);
}

TEST(FuseHardswish, ReadsTheBoundsOfOldClipsFromAttributes) {
  const auto done =
      rewritten(kSwish, graph("a = Add(x, three) b = Clip<min = 0.0, max = 6.0>(a) c = Mul(x, b) y = Div(c, six)"), 10);
  EXPECT_EQ(done.fired, 1U);
  expect_same_outputs(done, kSwish);
}

TEST(FuseHardswish, RefusesAGateOfAnotherInput) {
  const auto done = rewritten(kSwish, R"(agraph (float[N,4] x, float[N,4] u) => (float[N,4] y)
    <float three = {3}, float nought = {0}, float six = {6}> {
    a = Add(u, three) b = Clip(a, nought, six) c = Mul(x, b) y = Div(c, six) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why,
              ElementsAre("Div -> y: input 0 of Add -> a is the graph input 'u', expected the graph input 'x'"));
}

TEST(FuseHardswish, RefusesAnotherSlope) {
  const auto done =
      rewritten(kSwish, graph("a = Add(x, three) b = Clip(a, nought, three) c = Mul(x, b) y = Div(c, three)"));
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Div -> y: the gate is x * 0.333333 + 1, HardSwish has x / 6 + 0.5"));
}

}  // namespace
