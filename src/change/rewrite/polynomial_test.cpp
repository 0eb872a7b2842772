// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/polynomial.h"

#include <gtest/gtest.h>

#include "model/model.h"

namespace hone::change {
namespace {

model::Model parse(const std::string& body) {
  auto model = model::Model::from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n] x, float[n] z) => (float[n] y) "
      "<float two = {2}, float three = {3}, float half = {0.5}> { " +
      body + " }");
  EXPECT_TRUE(model) << (model ? "" : model.error().line());
  return std::move(*model);
}

std::optional<Polynomial> read(const model::Model& model, std::string_view t = "") {
  const auto& graph = model.graph();
  const auto found = read_polynomial(graph, graph.find_value("y"), graph.find_value("x"),
                                     t.empty() ? model::kNoValue : graph.find_value(t));
  return found ? std::optional(found->terms) : std::nullopt;
}

TEST(Polynomial, DoesNotDependOnHowTheFormulaIsWritten) {
  const Polynomial expected = {{{1, 0}, 2}, {{3, 0}, 0.5}};
  EXPECT_EQ(read(parse("p = Pow(x, three) a = Mul(p, half) b = Mul(x, two) y = Add(a, b)")), expected);
  EXPECT_EQ(read(parse("s = Mul(x, x) c = Mul(s, x) a = Div(c, two) b = Add(x, x) y = Add(b, a)")), expected);
  EXPECT_EQ(read(parse("s = Mul(x, x) a = Mul(half, s) b = Add(two, a) y = Mul(x, b)")), expected);
  EXPECT_EQ(read(parse("n = Neg(x) s = Pow(x, two) a = Mul(half, s) b = Add(two, a) c = Mul(n, b) y = Neg(c)")),
            expected);
}

TEST(Polynomial, KeepsTheSecondValueApart) {
  const Polynomial expected = {{{1, 0}, 1}, {{1, 1}, 0.5}};
  EXPECT_EQ(read(parse("t = Tanh(x) h = Mul(half, t) a = Mul(x, h) y = Add(x, a)"), "t"), expected);
  EXPECT_EQ(read(parse("t = Tanh(x) u = Add(t, two) a = Mul(x, u) y = Div(a, two)"), "t"), expected);
}

TEST(Polynomial, DropsTermsThatCancel) {
  EXPECT_EQ(read(parse("a = Mul(x, two) b = Sub(a, x) y = Sub(b, x)")), Polynomial{});
}

TEST(Polynomial, FailsOnAnythingElse) {
  EXPECT_FALSE(read(parse("y = Add(x, z)")));
  EXPECT_FALSE(read(parse("y = Div(two, x)")));
  EXPECT_FALSE(read(parse("y = Pow(x, half)")));
  EXPECT_FALSE(read(parse("a = Relu(x) y = Add(a, two)")));
  // Powers above four are no activation's, and a chain of squares must not blow up.
  EXPECT_FALSE(read(parse("a = Mul(x, x) b = Mul(a, a) y = Mul(b, b)")));
}

}  // namespace
}  // namespace hone::change
