// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::change::any;
using hone::change::Attempt;
using hone::change::constant;
using hone::change::literal;
using hone::change::match_pattern;
using hone::change::maybe_cast;
using hone::change::one_of;
using hone::change::op;
using hone::change::output_of;
using hone::change::Pattern;
using hone::change::scalar;
using hone::change::square;

// Matches with the node that makes `output` as the root.
Attempt match_at(const hone::model::Model& model, const Pattern& pattern, const std::string& output = "y") {
  const auto& graph = model.graph();
  return match_pattern(graph, pattern, graph.value(graph.find_value(output)).producer);
}

hone::model::Model gelu(std::string_view body) {
  return hone::test::model_of(
      fmt::format("agraph (float[4] x) => (float[4] y) <float half = {{0.5}}, float one = {{1}}, float root = "
                  "{{1.41421}}, float two = {{2}}> {{ {} }}",
                  body));
}

Pattern gelu_pattern() {
  const Pattern x = any("x");
  const Pattern erf = op("Erf", {op("Div", {x, literal(1.4142135)})}).anchor();
  return op("Mul", {op("Mul", {x, op("Add", {erf, literal(1)})}), literal(0.5)});
}

TEST(Pattern, TakesInputsOfCommutativeOperatorsInBothOrders) {
  for (const char* body : {"a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)",
                           "a = Div(x, root) b = Erf(a) c = Add(one, b) d = Mul(c, x) y = Mul(half, d)"}) {
    const auto model = gelu(body);
    const Attempt attempt = match_at(model, gelu_pattern());
    ASSERT_TRUE(attempt.matched) << attempt.why;
    EXPECT_EQ(attempt.found.value("x"), model.graph().find_value("x"));
    EXPECT_EQ(attempt.nodes.size(), 5U);
    EXPECT_EQ(model.graph().node(attempt.nodes[0]).output(0), model.graph().find_value("y"));
  }
}

TEST(Pattern, SaysWhichConstantIsAnother) {
  const auto model = gelu("a = Div(x, two) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)");
  const Attempt attempt = match_at(model, gelu_pattern());
  EXPECT_FALSE(attempt.matched);
  EXPECT_EQ(attempt.why, "input 1 of Div -> a is 2, expected 1.41421");
}

TEST(Pattern, SaysWhichInputShouldBeTheSame) {
  const auto model = gelu("a = Div(x, root) b = Erf(a) c = Add(b, one) n = Neg(x) d = Mul(n, c) y = Mul(d, half)");
  EXPECT_EQ(match_at(model, gelu_pattern()).why,
            "input 0 of Div -> a is the graph input 'x', expected 'n' of Neg -> n");
}

TEST(Pattern, IsNoNearMissBeforeTheAnchor) {
  const auto model = gelu("a = Tanh(x) c = Add(a, one) d = Mul(x, c) y = Mul(d, half)");
  const Attempt attempt = match_at(model, gelu_pattern());
  EXPECT_FALSE(attempt.matched);
  EXPECT_EQ(attempt.why, "");
}

TEST(Pattern, RefusesWhenAnInteriorValueIsAGraphOutput) {
  const auto model =
      hone::test::model_of("agraph (float[4] x) => (float[4] y, float[4] a) { a = Neg(x) b = Abs(a) y = Relu(b) }");
  EXPECT_EQ(match_at(model, op("Relu", {op("Abs", {op("Neg", {any()})})})).why, "Neg -> a makes the graph output 'a'");
}

TEST(Pattern, RefusesWhenAnInteriorValueIsReadByAnotherNodeOrASubgraph) {
  const auto model = hone::test::model_of(R"(agraph (float[4] x, bool c) => (float[4] y, float[4] z) {
    a = Neg(x) b = Abs(a) y = Relu(b)
    z = If(c) <then_branch = t () => (float[4] v) { v = Exp(a) }, else_branch = e () => (float[4] v) { v = Exp(x) }> })");
  const Pattern neg = op("Neg", {any()});
  EXPECT_EQ(match_at(model, op("Relu", {op("Abs", {neg})})).why, "Neg -> a also feeds a subgraph of If -> z");
  const Attempt shared = match_at(model, op("Relu", {op("Abs", {neg.may_be_read_elsewhere()})}));
  EXPECT_TRUE(shared.matched);
  EXPECT_EQ(shared.nodes.size(), 2U);
}

TEST(Pattern, TheSameObjectIsTheSameValueAndBacktracks) {
  // (a + b) * (b + a') only fits when the second sum is read the other way round.
  const auto model = hone::test::model_of(
      "agraph (float[4] p, float[4] q) => (float[4] y) { r = Sub(p, q) s = Sub(q, p) m = Add(r, s) n = Add(s, r) y = "
      "Div(m, n) }");
  const Pattern a = op("Sub", {any("p"), any("q")}), b = op("Sub", {any("q"), any("p")});
  EXPECT_TRUE(match_at(model, op("Div", {op("Add", {a, b}), op("Add", {a, b})})).matched);
  const Pattern x = any("x");
  EXPECT_FALSE(match_at(model, op("Div", {x, x})).matched);
}

TEST(Pattern, LiteralsNeedNotBeOneConstant) {
  const auto model = hone::test::model_of(
      "agraph (float[4] x) => (float[4] y) <float h = {0.5}, float[1] g = {0.5}> { a = Mul(x, h) y = Mul(a, g) }");
  const Pattern half = literal(0.5);
  EXPECT_TRUE(match_at(model, op("Mul", {op("Mul", {any("x"), half}), half})).matched);
}

TEST(Pattern, NamedScalarsMustBeEqualNumbers) {
  const auto model = hone::test::model_of(
      "agraph (float[4] x) => (float[4] y) <float h = {0.5}, float g = {0.25}> { a = Mul(x, h) y = Add(a, g) }");
  EXPECT_FALSE(match_at(model, op("Add", {op("Mul", {any("x"), scalar("k")}), scalar("k")})).matched);
  const Attempt attempt = match_at(model, op("Add", {op("Mul", {any("x"), scalar("k")}), scalar("l")}));
  ASSERT_TRUE(attempt.matched);
  EXPECT_EQ(attempt.found.number("k"), 0.5);
  EXPECT_EQ(attempt.found.number("l"), 0.25);
}

TEST(Pattern, SeesConstantsThroughConstantAndIdentityNodes) {
  const auto model = hone::test::model_of(
      "agraph (float[4] x) => (float[4] y) { c = Constant<value_float = 3.0>() d = Identity(c) y = Add(x, d) }");
  EXPECT_TRUE(match_at(model, op("Add", {any("x"), literal(3)})).matched);
  EXPECT_TRUE(match_at(model, op("Add", {any("x"), constant("c")})).matched);
}

TEST(Pattern, TakesOptionalCasts) {
  const auto model = hone::test::model_of(
      "agraph (float16[4] x) => (float16[4] y) { a = Cast<to = 1>(x) b = Sqrt(a) y = Cast<to = 10>(b) }");
  const Pattern x = any("x");
  EXPECT_TRUE(match_at(model, op("Cast", {op("Sqrt", {maybe_cast(x)})})).matched);
}

TEST(Pattern, TakesASquareInBothForms) {
  const auto model = hone::test::model_of(
      "agraph (float[4] x) => (float[4] y, float[4] z) <float two = {2}> { y = Mul(x, x) z = Pow(x, two) }");
  const Pattern squared = square(any("x"));
  EXPECT_TRUE(match_at(model, squared, "y").matched);
  EXPECT_TRUE(match_at(model, squared, "z").matched);
}

TEST(Pattern, MatchesOtherOutputsOfOneNode) {
  const auto model =
      hone::test::model_of("agraph (float[4] x) => (float[2] y) { a, b = Split(x) c = Sigmoid(a) y = Mul(c, b) }", 13);
  const Pattern split = op("Split", {any("x")});
  EXPECT_TRUE(match_at(model, op("Mul", {op("Sigmoid", {output_of(split, 0)}), output_of(split, 1)})).matched);
  EXPECT_FALSE(match_at(model, op("Mul", {op("Sigmoid", {output_of(split, 1)}), output_of(split, 0)})).matched);
}

TEST(Pattern, ChecksAttributesConditionsAndInputCounts) {
  const auto model =
      hone::test::model_of("agraph (float[2,4] x) => (float[2,4] y) { a = Relu(x) y = Softmax<axis = 0>(a) }");
  const Pattern relu = op("Relu", {any("x")});
  EXPECT_EQ(match_at(model, op("Softmax", {relu}).attribute("axis", -1, -1).anchor()).why,
            "axis of Softmax -> y is 0, expected -1");
  EXPECT_EQ(
      match_at(model,
               op("Softmax", {relu.where([](const auto&, auto) { return std::string("it is Monday"); })}).anchor())
          .why,
      "it is Monday");
  EXPECT_EQ(match_at(model, op("Softmax", {}).anchor()).why, "Softmax -> y has 1 inputs, expected 0");
}

TEST(Pattern, NamesAllAlternativesWhenNoneFits) {
  const auto model = hone::test::model_of("agraph (float[4] x) => (float[4] y) { a = Neg(x) y = Relu(a) }");
  const Pattern x = any("x");
  EXPECT_EQ(match_at(model, op("Relu", {one_of({op("Abs", {x}), op("Exp", {x})})}).anchor()).why,
            "input 0 of Relu -> y is 'a' of Neg -> a, expected Abs or Exp");
}

}  // namespace
