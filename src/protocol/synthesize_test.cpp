// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "protocol/data.h"
#include "protocol/random.h"

namespace hone::protocol {
namespace {

using model::Model;
using model::Tensor;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::Lt;

Dataset made(std::string_view signature, std::string_view body, const Shapes& shapes = {}, size_t count = 1) {
  auto model = Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]> g " + std::string(signature) + " { " +
                                std::string(body) + " }");
  EXPECT_TRUE(model) << model.error().line();
  auto data = synthesize(model->graph(), shapes, count, 42);
  EXPECT_TRUE(data) << data.error().line();
  return data ? *data : Dataset{};
}

std::vector<double> values(const Dataset& data, std::string_view name, size_t sample = 0) {
  const Tensor* tensor = find_tensor(data.samples.at(sample), name);
  EXPECT_NE(tensor, nullptr) << name;
  return tensor != nullptr ? tensor->to_doubles().value() : std::vector<double>{};
}

TEST(Synthesize, TokenIdsStayBelowTheTableTheyIndex) {
  const auto data =
      made("(int64[batch, n] ids) => (float[a, b, c, d] y) <float[3, 2] table = {1,2,3,4,5,6}, int64[1] axes = {0}>",
           "a = Cast<to = 6>(ids) b = Unsqueeze(a, axes) y = Gather(table, b)", {{"ids", {4, 50}}});
  const auto ids = values(data, "ids");
  EXPECT_THAT(ids, Each(AllOf(Ge(0), Lt(3))));
  for (const double row : {0, 1, 2}) EXPECT_THAT(ids, Contains(row));
  EXPECT_THAT(data.notes, Contains(HasSubstr("integers 0 to 2, rows of 'table'")));
}

TEST(Synthesize, ShiftedIdsAndTheSmallestOfSeveralTablesCount) {
  const auto data = made(
      "(int64[n] ids) => (float[n, 1] y, float[n, 1] z) <float[4, 1] small = {1,2,3,4}, float[6, 1] large = "
      "{1,2,3,4,5,6}, int64 one = {1}>",
      "shifted = Add(ids, one) y = Gather(small, shifted) z = Gather(large, ids)", {{"ids", {200}}});
  EXPECT_THAT(values(data, "ids"), Each(AllOf(Ge(0), Le(2))));
}

TEST(Synthesize, IdsAreFollowedIntoSubgraphs) {
  const auto data = made("(bool c, int64[n] ids) => (float[n, 1] y) <float[2, 1] table = {1, 2}>",
                         "y = If(c) <then_branch = a () => (float[n, 1] t) { t = Gather(table, ids) }, "
                         "else_branch = b () => (float[n, 1] e) { e = Gather(table, ids) }>",
                         {{"ids", {64}}});
  EXPECT_THAT(values(data, "ids"), AllOf(Each(Le(1)), Contains(1)));
}

TEST(Synthesize, MasksHideNothing) {
  const auto data = made(
      "(int64[1, n] attention_mask, int64[1, n] m, bool[1, n] pad, float[1, n] x) => (float[1, n] y, float[1, n] z, "
      "int64[1, n] k) <float one = {1}, float low = {-100000}>",
      "f = Cast<to = 1>(m) y = Sub(one, f) z = Where(pad, low, x) k = Identity(attention_mask)");
  EXPECT_THAT(values(data, "attention_mask"), Each(1));
  EXPECT_THAT(values(data, "m"), Each(1)) << "1 - m";
  EXPECT_THAT(values(data, "pad"), Each(0)) << "true would hide";
}

TEST(Synthesize, PositionsLengthsAndComparedConstants) {
  const auto data = made(
      "(int64[1, n] position_ids, int64[1] lengths, int64 sr, float[1, n] x) => (int64[1, n] y, int64[1] z, bool b, "
      "float[1, n] w) <int64 rate = {16000}>",
      "y = Identity(position_ids) z = Identity(lengths) b = Equal(sr, rate) w = Relu(x)", {{"x", {1, 5}}});
  EXPECT_THAT(values(data, "position_ids"), ElementsAre(0, 1, 2, 3, 4)) << "n is 5 by --shape of x";
  EXPECT_THAT(values(data, "lengths"), ElementsAre(5));
  EXPECT_THAT(values(data, "sr"), ElementsAre(16000));
}

TEST(Synthesize, UnknownDimsGetStatedDefaults) {
  const auto data = made(
      "(float[batch, 3, h, w] image, int64[batch, seq] ids, int64[batch, total_seq] att, float[batch, past_seq] past) "
      "=> (float[batch, 3, h, w] y, int64[batch, seq] z, int64[batch, total_seq] a, float[batch, past_seq] p)",
      "y = Relu(image) z = Identity(ids) a = Identity(att) p = Relu(past)");
  const Shapes shapes = shapes_of(data);
  EXPECT_THAT(shapes.at("image"), ElementsAre(1, 3, 224, 224));
  EXPECT_THAT(shapes.at("ids"), ElementsAre(1, 16));
  EXPECT_THAT(shapes.at("att"), ElementsAre(1, 32));
  EXPECT_THAT(data.notes, Contains(HasSubstr("dim 2 (h) of input 'image' set to 224")));
  EXPECT_THAT(values(data, "image"), Each(AllOf(Ge(0), Lt(1))));
}

TEST(Synthesize, OneHotByComparisonIsARange) {
  const auto data = made("(int32[1, n] x) => (bool[1, n, 3] y) <int32[3] classes = {0, 1, 2}, int64[1] axes = {2}>",
                         "u = Unsqueeze(x, axes) y = Equal(u, classes)", {{"x", {1, 64}}});
  EXPECT_THAT(values(data, "x"), AllOf(Each(AllOf(Ge(0), Lt(3))), Contains(2)));
}

TEST(Synthesize, KeyValueCachesOfOneHeadAreNoImages) {
  const auto data = made(
      "(float[batch, 1, past, 8] past_key_0, int64[batch, total] mask, int64[batch, seq] ids) => (float[batch, 1, "
      "past, 8] y, int64[batch, total] m, int64[batch, seq] i)",
      "y = Relu(past_key_0) m = Identity(mask) i = Identity(ids)");
  EXPECT_THAT(shapes_of(data).at("past_key_0"), ElementsAre(1, 1, 16, 8));
  EXPECT_THAT(shapes_of(data).at("mask"), ElementsAre(1, 32)) << "past + seq";
  EXPECT_THAT(values(data, "past_key_0"), Contains(Lt(0)));
}

TEST(Synthesize, UnnamedMiddleDimOfARecurrentStateIsTheBatch) {
  EXPECT_THAT(shapes_of(made("(float[2, ?, 128] state) => (float[2, ?, 128] y)", "y = Relu(state)")).at("state"),
              ElementsAre(2, 1, 128));
}

TEST(Synthesize, UnknownRankAsksForAShape) {
  auto model =
      Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]> g (float[] x) => (float[] y) { y = Relu(x) }");
  ASSERT_TRUE(model) << model.error().line();
  const auto data = synthesize(model->graph(), {}, 1, 1);
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().line(), HasSubstr("--shape x:"));
}

TEST(Synthesize, SamplesDifferAndSeedsRepeat) {
  const auto a = made("(float[n, 4] x) => (float[n, 4] y)", "y = Relu(x)", {}, 3);
  const auto b = made("(float[n, 4] x) => (float[n, 4] y)", "y = Relu(x)", {}, 3);
  EXPECT_EQ(a.sha256(), b.sha256());
  EXPECT_NE(a.samples[0], a.samples[1]);
  EXPECT_TRUE(a.synthetic);
  EXPECT_EQ(a.source, "synthetic, seed 42");
}

TEST(Synthesize, ValuesAreTheSameOnEveryMachine) {
  const auto data = made("(float[n, 4] x) => (float[n, 4] y)", "y = Relu(x)");
  EXPECT_EQ(data.sha256(), "c47df3de4dbd3aa0b0c097b94ba966d32185aad24d723b33656101b57db9b270");
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(1, "x", 0);
  double sum = 0, squares = 0, largest = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double v = random.normal();
    sum += v, squares += v * v, largest = std::max(largest, std::fabs(v));
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_GT(largest, 3.5);
}

}  // namespace
}  // namespace hone::protocol
