// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kRule = {"fuse-gelu-tanh"};

std::string graph(const std::string& body) {
  return fmt::format(R"(agraph (float[N, 7] x) => (float[N, 7] y)
    <float k = {{0.7978846}}, float c = {{0.044715}}, float kc = {{0.0356774}}, float one = {{1}}, float half = {{0.5}}, float three = {{3}}, float two = {{2}}>
    {{ {} }})",
                     body);
}

TEST(FuseGeluTanh, FusesEveryWayOfWritingIt) {
  for (const char* body : {
           "p = Pow(x, three) q = Mul(p, c) r = Add(x, q) s = Mul(r, k) t = Tanh(s) u = Add(t, one) h = Mul(x, half) y "
           "= Mul(h, u)",
           "p = Mul(x, x) p3 = Mul(p, x) q = Mul(c, p3) r = Add(x, q) s = Mul(k, r) t = Tanh(s) u = Add(one, t) v = "
           "Mul(x, u) y = Mul(v, half)",
           "p = Mul(x, x) q = Mul(p, c) r = Add(one, q) m = Mul(k, x) s = Mul(m, r) t = Tanh(s) u = Add(t, one) v = "
           "Mul(half, u) y = Mul(v, x)",
           "p = Pow(x, two) q = Mul(p, kc) r = Add(k, q) s = Mul(r, x) t = Tanh(s) h = Mul(x, half) e = Mul(h, t) y = "
           "Add(e, h)",
       }) {
    const auto done = rewritten(kRule, graph(body));
    EXPECT_EQ(done.lines, "y = com.microsoft.FastGelu(x)\n") << body;
    EXPECT_THAT(done.why, IsEmpty());
    expect_same_outputs(done, kRule);
  }
}

TEST(FuseGeluTanh, UsesTheStandardOperatorFromOpset20) {
  const auto done = rewritten(kRule,
                              graph("p = Pow(x, three) q = Mul(p, c) r = Add(x, q) s = Mul(r, k) t = Tanh(s) "
                                    "u = Add(t, one) h = Mul(x, half) y = Mul(h, u)"),
                              20);
  EXPECT_EQ(done.lines, "y = Gelu<approximate=tanh>(x)\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseGeluTanh, LeavesOtherPolynomialsAlone) {
  // A cubic with another coefficient is not GELU's, and a plain Tanh is not near it.
  EXPECT_THAT(rewritten(kRule, graph("p = Pow(x, three) q = Mul(p, half) r = Add(x, q) s = Mul(r, k) t = Tanh(s) "
                                     "u = Add(t, one) h = Mul(x, half) y = Mul(h, u)"))
                  .why,
              IsEmpty());
  EXPECT_THAT(rewritten(kRule, graph("y = Tanh(x)")).why, IsEmpty());
}

TEST(FuseGeluTanh, SaysWhereTheFormulaDeparts) {
  const auto done = rewritten(kRule, graph("p = Pow(x, three) q = Mul(p, c) r = Add(x, q) s = Mul(r, k) t = Tanh(s) "
                                           "u = Add(t, one) y = Relu(u)"));
  EXPECT_THAT(done.why, ElementsAre("Tanh -> t: Relu -> y is not part of the formula of Tanh -> t"));
}

}  // namespace
