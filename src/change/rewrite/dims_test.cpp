// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/dims.h"

#include <gtest/gtest.h>

#include "model/model.h"

namespace hone::change {
namespace {

// Everything the tests ask about is an output, so that the text needs no other names.
model::Model parse(const std::string& body) {
  auto model = model::Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]> g " + body);
  EXPECT_TRUE(model) << (model ? "" : model.error().line());
  return std::move(*model);
}

std::string shape_text(const model::Model& model, std::string_view value) {
  Dims dims(model.graph());
  const auto shape = dims.shape(model.graph().find_value(value));
  return shape ? to_text(*shape) : "none";
}

TEST(Dims, ResolveAHeadSplitWrittenWithShapeArithmetic) {
  const auto model = parse(R"((float[batch, seq, 32] x) => (float[a, b, c, d] q)
    <int64[1] head = {8}, int64[1] rest = {-1}, int64[1] axes = {0}, int64 zero = {0}, int64 one = {1}> {
      s = Shape(x)
      b = Gather<axis = 0>(s, zero)
      n = Gather<axis = 0>(s, one)
      b1 = Unsqueeze(b, axes)
      n1 = Unsqueeze(n, axes)
      target = Concat<axis = 0>(b1, n1, rest, head)
      r = Reshape(x, target)
      q = Transpose<perm = [0, 2, 1, 3]>(r)
    })");
  EXPECT_EQ(shape_text(model, "r"), "[batch,seq,4,8]");
  // The declared symbols of the output are as good; both names are known.
  Dims dims(model.graph());
  const auto x = model.graph().find_value("x"), q = model.graph().find_value("q");
  EXPECT_TRUE(same(dims.dim(q, 0), dims.dim(x, 0)));
  EXPECT_TRUE(same(dims.dim(q, 2), dims.dim(x, 1)));
  EXPECT_FALSE(same(dims.dim(q, 1), dims.dim(x, 1)));
  EXPECT_TRUE(dims.dim(q, 1).is(4));
}

TEST(Dims, KnowThatMinusOneInAnExpandTargetKeepsTheDim) {
  const auto model = parse(R"((float[batch, 1, 1, seq] x) => (float[a, b, c, d] y)
    <int64[1] minus = {-1}, int64[1] from = {0}, int64[1] to = {1}, int64[1] last = {3}, int64[1] four = {4}, int64[1] six = {6}> {
      s = Shape(x)
      b = Slice(s, from, to)
      t = Slice(s, last, four)
      target = Concat<axis = 0>(b, minus, six, t)
      count = Shape(target)
      ones = ConstantOfShape<value = int64[1] {1}>(count)
      negative = Mul(ones, minus)
      keep = Equal(target, negative)
      shape = Where(keep, ones, target)
      e = Expand(x, shape)
      y = Identity(e)
    })");
  EXPECT_EQ(shape_text(model, "e"), "[batch,1,6,seq]");
}

TEST(Dims, DoNotGuessWhatBroadcastingOfTwoUnknownDimsGives) {
  const auto model = parse(R"((float[batch, n] x, float[m] y) => (float[a, b] z) { z = Add(x, y) })");
  Dims dims(model.graph());
  const auto& graph = model.graph();
  EXPECT_TRUE(same(dims.dim(graph.find_value("z"), 0), dims.dim(graph.find_value("x"), 0)));
  EXPECT_FALSE(same(dims.dim(graph.find_value("z"), 1), dims.dim(graph.find_value("x"), 1)));
  EXPECT_FALSE(same(dims.dim(graph.find_value("z"), 1), dims.dim(graph.find_value("y"), 0)));
}

TEST(Dims, DoNotTakeTheResultOfASubtractionForASize) {
  // seq - 5 may be -1 at run time, so the Reshape's dim is not known.
  const auto model = parse(R"((float[seq, 4] x) => (float[a, b] y)
    <int64[1] from = {0}, int64[1] to = {1}, int64[1] five = {5}, int64[1] rest = {-1}> {
      s = Shape(x)
      n = Slice(s, from, to)
      d = Sub(n, five)
      target = Concat<axis = 0>(d, rest)
      r = Reshape(x, target)
      y = Identity(r)
    })");
  EXPECT_EQ(shape_text(model, "r"), "[?,?]");
}

TEST(Dims, ComputeAScaleFromTheHeadSize) {
  const auto model = parse(R"((float[batch, 4, seq, 16] q) => (float[1] y)
    <int64[1] from = {3}, int64[1] to = {9223372036854775807}, float[1] one = {1}> {
      s = Shape(q)
      d = Slice(s, from, to)
      f = Cast<to = 1>(d)
      r = Sqrt(f)
      i = Div(one, r)
      y = Sqrt(i)
    })");
  Dims dims(model.graph());
  ASSERT_TRUE(dims.number(model.graph().find_value("y")));
  EXPECT_DOUBLE_EQ(*dims.number(model.graph().find_value("y")), 0.5);
}

TEST(Dims, AddTheLengthsThatAConcatJoins) {
  const auto model = parse(R"((float[b, past, 8] p, float[b, seq, 8] k) => (float[b, t, 8] a, float[b, t, 8] c) {
      a = Concat<axis = 1>(p, k)
      c = Concat<axis = 1>(k, p)
    })");
  Dims dims(model.graph());
  EXPECT_TRUE(same(dims.dim(model.graph().find_value("a"), 1), dims.dim(model.graph().find_value("c"), 1)));
}

}  // namespace
}  // namespace hone::change
