// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kRule = {"fuse-skip-layernorm"};

TEST(FuseSkipLayernorm, FusesTheSumAndTheNormalization) {
  const auto done = rewritten(kRule, R"(agraph (float[B, S, 4] x, float[B, S, 4] r) => (float[B, S, 4] y)
    <float[4] g = {1, 2, 3, 4}, float[4] b = {4, 3, 2, 1}> {
    s = Add(x, r) y = LayerNormalization<axis = -1, epsilon = 0.001>(s, g, b) })");
  EXPECT_EQ(done.lines, "y = com.microsoft.SkipLayerNormalization<epsilon=0.001>(x, r, {1,2,3,4}, {4,3,2,1})\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseSkipLayernorm, GivesTheSumToItsOtherReaders) {
  const auto done = rewritten(kRule, R"(agraph (float[B, S, 4] x, float[B, S, 4] r) => (float[B, S, 4] z)
    <float[4] g = {1, 2, 3, 4}, float[4] b = {4, 3, 2, 1}> {
    s = Add(x, r) y = LayerNormalization<axis = -1>(s, g, b) t = Relu(y) z = Add(s, t) })");
  EXPECT_EQ(done.lines,
            "%1, -, -, %2 = com.microsoft.SkipLayerNormalization<epsilon=1e-05>(x, r, {1,2,3,4}, {4,3,2,1})\n"
            "%3 = Relu(%1)\n"
            "z = Add(%2, %3)\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseSkipLayernorm, GivesTheSumToAGraphOutput) {
  const auto done = rewritten(kRule, R"(agraph (float[B, 4] x, float[B, 4] r) => (float[B, 4] y, float[B, 4] s)
    <float[4] g = {1, 2, 3, 4}> { s = Add(x, r) y = LayerNormalization(s, g) })");
  EXPECT_EQ(done.lines, "y, -, -, s = com.microsoft.SkipLayerNormalization<epsilon=1e-05>(x, r, {1,2,3,4})\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseSkipLayernorm, SaysWhyNot) {
  const auto broadcast = rewritten(kRule, R"(agraph (float[B, S, 4] x, float[S, 4] r) => (float[B, S, 4] y)
    <float[4] g = {1, 2, 3, 4}> { s = Add(x, r) y = LayerNormalization(s, g) })");
  EXPECT_THAT(broadcast.why, ElementsAre("LayerNormalization -> y: the two parts of 's' of Add -> s are not proven to "
                                         "have the same shape"));
  const auto rank_four = rewritten(kRule, R"(agraph (float[B, S, 2, 4] x, float[B, S, 2, 4] r) => (float[B, S, 2, 4] y)
    <float[4] g = {1, 2, 3, 4}> { s = Add(x, r) y = LayerNormalization(s, g) })");
  EXPECT_THAT(rank_four.why,
              ElementsAre("LayerNormalization -> y: 's' of Add -> s has rank 4, the operator takes 2 or 3"));
}

}  // namespace
