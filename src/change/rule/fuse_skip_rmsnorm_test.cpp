// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kRule = {"fuse-skip-rmsnorm"};

TEST(FuseSkipRmsnorm, FusesAndGivesTheSumToItsOtherReaders) {
  const auto done = rewritten(kRule, R"(agraph (float[B, S, 4] x, float[B, S, 4] r) => (float[B, S, 4] z)
    <float[4] g = {1, 2, 3, 4}> {
    s = Add(x, r) y = RMSNormalization<axis = -1, epsilon = 0.001>(s, g) t = Relu(y) z = Add(s, t) })",
                              23);
  EXPECT_EQ(done.lines,
            "%1, -, -, %2 = com.microsoft.SkipSimplifiedLayerNormalization<epsilon=0.001>(x, r, {1,2,3,4})\n"
            "%3 = Relu(%1)\n"
            "z = Add(%2, %3)\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseSkipRmsnorm, SaysWhyNot) {
  const auto done = rewritten(kRule, R"(agraph (float[B, S, 4] x, float[4] r) => (float[B, S, 4] y)
    <float[4] g = {1, 2, 3, 4}> { s = Add(x, r) y = RMSNormalization(s, g) })",
                              23);
  EXPECT_THAT(done.why,
              ElementsAre("RMSNormalization -> y: the two parts of 's' of Add -> s are not proven to have the "
                          "same shape"));
}

}  // namespace
