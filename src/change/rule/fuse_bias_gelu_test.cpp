// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kRule = {"fuse-bias-gelu"};

TEST(FuseBiasGelu, FusesBothForms) {
  const auto erf = rewritten(kRule, R"(agraph (float[N, 4] x) => (float[N, 4] y) <float[4] b = {1, 2, 3, 4}> {
    s = Add(x, b) y = Gelu(s) })",
                             20);
  EXPECT_EQ(erf.lines, "y = com.microsoft.BiasGelu(x, {1,2,3,4})\n");
  expect_same_outputs(erf, kRule);
  const auto tanh = rewritten(kRule, R"(agraph (float[N, 4] x) => (float[N, 4] y) <float[4] b = {1, 2, 3, 4}> {
    s = Add(b, x) y = Gelu<approximate = "tanh">(s) })",
                              20);
  EXPECT_EQ(tanh.lines, "y = com.microsoft.FastGelu(x, {1,2,3,4})\n");
  expect_same_outputs(tanh, kRule);
}

TEST(FuseBiasGelu, SaysWhyNot) {
  const auto read_too =
      rewritten(kRule, R"(agraph (float[N, 4] x) => (float[N, 4] y, float[N, 4] s) <float[4] b = {1, 2, 3, 4}> {
    s = Add(x, b) y = Gelu(s) })",
                20);
  EXPECT_THAT(read_too.why, ElementsAre("Gelu -> y: Add -> s makes the graph output 's'"));
  const auto wide = rewritten(kRule, R"(agraph (float[N, 1] x) => (float[N, 4] y) <float[4] b = {1, 2, 3, 4}> {
    s = Add(x, b) y = Gelu(s) })",
                              20);
  EXPECT_THAT(wide.why, ElementsAre("Gelu -> y: the constant 'b' is not proven to be as long as the last axis of the "
                                    "graph input 'x'"));
}

}  // namespace
