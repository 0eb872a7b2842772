// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kRule = {"fuse-rmsnorm"};

std::string graph(const std::string& body, const std::string& output = "float[N, 4, 8] y") {
  return fmt::format(R"(agraph (float[N, 4, 8] x) => ({})
    <float two = {{2}}, float one = {{1}}, float e = {{0.000001}}, float p = {{-0.5}}, float[8] g = {{1, 2, 3, 4, 5, 6, 7, 8}},
     int64[1] last = {{-1}}> {{ {} }})",
                     output, body);
}

TEST(FuseRmsnorm, FusesEveryWayOfWritingIt) {
  for (const char* body : {
           "q = Pow(x, two) v = ReduceMean(q, last) w = Add(v, e) s = Sqrt(w) n = Div(x, s) y = Mul(n, g)",
           "q = Mul(x, x) v = ReduceMean(q, last) w = Add(e, v) s = Sqrt(w) r = Div(one, s) n = Mul(x, r) y = Mul(g, "
           "n)",
           "q = Mul(x, x) v = ReduceMean(q, last) w = Add(e, v) s = Sqrt(w) r = Reciprocal(s) n = Mul(r, x) y = Mul(n, "
           "g)",
           "q = Pow(x, two) v = ReduceMean(q, last) w = Add(v, e) r = Pow(w, p) n = Mul(x, r) y = Mul(n, g)",
       }) {
    const auto done = rewritten(kRule, graph(body), 18);
    EXPECT_EQ(done.lines, "y = RMSNormalization<axis=-1, epsilon=1e-06>(x, {1,2,3,4,5,6,7,8})\n") << body;
    EXPECT_THAT(done.why, IsEmpty());
    EXPECT_EQ(done.after.opset(), 23);
    expect_same_outputs(done, kRule);
  }
}

TEST(FuseRmsnorm, TakesAScaleThatTheGraphComputes) {
  const auto done = rewritten(kRule, R"(agraph (float[N, 8] x, float[8] weight) => (float[N, 8] y)
    <float two = {2}, float one = {1}, float e = {0.000001}, int64[1] last = {-1}> {
    q = Pow(x, two) v = ReduceMean(q, last) w = Add(v, e) s = Sqrt(w) n = Div(x, s) g = Add(weight, one) y = Mul(n, g)
  })",
                              23);
  EXPECT_EQ(done.lines, "%1 = Add(weight, 1)\ny = RMSNormalization<axis=-1, epsilon=1e-06>(x, %1)\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseRmsnorm, LeavesTheVarianceOfALayernormAlone) {
  const auto done = rewritten(kRule, R"(agraph (float[N, 8] x) => (float[N, 8] y)
    <float two = {2}, float e = {0.000001}, int64[1] last = {-1}> {
    m = ReduceMean(x, last) d = Sub(x, m) q = Pow(d, two) v = ReduceMean(q, last) w = Add(v, e) s = Sqrt(w) y = Div(d, s)
  })",
                              23);
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, IsEmpty());
}

TEST(FuseRmsnorm, SaysWhyNot) {
  const auto done = rewritten(kRule,
                              graph("q = Pow(x, two) v = ReduceMean<keepdims = 0>(q, last) w = Add(v, e) s = Sqrt(w) "
                                    "u = Unsqueeze(s, last) n = Div(x, u) y = Mul(n, g)"),
                              23);
  EXPECT_EQ(done.fired, 0U);
  const auto read_too =
      rewritten(kRule,
                graph("q = Pow(x, two) v = ReduceMean(q, last) w = Add(v, e) s = Sqrt(w) n = Div(x, s) y = Mul(n, g)",
                      "float[N, 4, 8] y, float[N, 4, 1] s"),
                23);
  EXPECT_THAT(read_too.why, ElementsAre("Div -> n: Sqrt -> s makes the graph output 's'"));
}

}  // namespace
