// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kRule = {"fuse-layernorm"};

std::string graph(const std::string& body, const std::string& output = "float[N, 4, 8] y") {
  return fmt::format(R"(agraph (float[N, 4, 8] x) => ({})
    <float two = {{2}}, float one = {{1}}, float e = {{0.00001}}, float p = {{-0.5}}, float[8] g = {{1, 2, 3, 4, 5, 6, 7, 8}},
     float[8] b = {{8, 7, 6, 5, 4, 3, 2, 1}}, float[1, 1, 8] g3 = {{1, 2, 3, 4, 5, 6, 7, 8}}, int64[1] last = {{-1}}, int64[1] middle = {{1}}>
    {{ {} }})",
                     output, body);
}

constexpr const char* kCore =
    "m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean<axes = [2]>(q) "
    "w = Add(v, e) s = Sqrt(w) ";

TEST(FuseLayernorm, FusesEveryWayOfWritingIt) {
  for (const std::string& body : {
           std::string(kCore) + "n = Div(d, s) t = Mul(n, g) y = Add(t, b)",
           std::string(kCore) + "n = Div(d, s) t = Mul(g3, n) y = Add(b, t)",
           std::string(kCore) + "r = Reciprocal(s) n = Mul(d, r) t = Mul(n, g) y = Add(t, b)",
           std::string(kCore) + "r = Div(one, s) n = Mul(r, d) t = Mul(n, g) y = Add(t, b)",
           std::string(
               "m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) d2 = Sub(x, m) q = Mul(d2, d2) "
               "v = ReduceMean<axes = [-1]>(q) w = Add(v, e) r = Pow(w, p) n = Mul(d, r) t = Mul(n, g) y = Add(t, b)"),
       }) {
    const auto done = rewritten(kRule, graph(body));
    EXPECT_EQ(done.lines, "y = LayerNormalization<axis=-1, epsilon=1e-05>(x, {1,2,3,4,5,6,7,8}, {8,7,6,5,4,3,2,1})\n")
        << body;
    EXPECT_THAT(done.why, IsEmpty());
    expect_same_outputs(done, kRule);
  }
}

TEST(FuseLayernorm, MakesAScaleOfOnesWhereThereIsNone) {
  const auto done = rewritten(kRule, graph(std::string(kCore) + "y = Div(d, s)"));
  EXPECT_EQ(done.lines, "y = LayerNormalization<axis=-1, epsilon=1e-05>(x, {1,1,1,1,1,1,1,1})\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseLayernorm, RaisesTheOpsetOfAnOlderModel) {
  const auto done = rewritten(kRule, graph(std::string(kCore) + "n = Div(d, s) t = Mul(n, g) y = Add(t, b)"), 13);
  EXPECT_EQ(done.lines, "y = LayerNormalization<axis=-1, epsilon=1e-05>(x, {1,2,3,4,5,6,7,8}, {8,7,6,5,4,3,2,1})\n");
  EXPECT_EQ(done.after.opset(), 17);
  expect_same_outputs(done, kRule);
}

TEST(FuseLayernorm, SaysWhyNot) {
  const auto other_axis = rewritten(kRule, graph("m = ReduceMean<axes = [1]>(x) d = Sub(x, m) q = Pow(d, two) v = "
                                                 "ReduceMean<axes = [1]>(q) w = Add(v, e) s = Sqrt(w) y = Div(d, s)"));
  EXPECT_EQ(other_axis.fired, 0U);
  const auto read_too =
      rewritten(kRule, graph(std::string(kCore) + "y = Div(d, s)", "float[N, 4, 8] y, float[N, 4, 1] v"));
  EXPECT_THAT(read_too.why, ElementsAre("Div -> y: ReduceMean -> v makes the graph output 'v'"));
}

}  // namespace
