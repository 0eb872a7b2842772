// Shapes of a run from profile and graph. SPDX-License-Identifier: Apache-2.0
#include "diagnose/invocation.h"

#include <deque>

#include "diagnose/diagnose_test_support.h"
#include "profile/operators.h"

namespace hone::diagnose {
namespace {

const std::string kProduct =
    "agraph (float[n,8] x) => (float[n,4] y) <" + weight("w", {8, 4}) + "> { y = MatMul(x, w) }";

Invocation invocation(const model::Model& model, const Ran& ran) {
  static std::deque<profile::Profile> kept;  // an Invocation's type points into its profile
  const profile::Profile& p = kept.emplace_back(profile_of({ran}, 100));
  const profile::Operators sums = profile::operators(p);
  return invocation_of(p, sums.rows.front(), NodeIndex(model.graph()).find(ran.name, ran.type).root);
}

TEST(Invocation, ShapesOfTheRunWinOverTheGraphs) {
  const model::Model model = text_model(kProduct);
  const Invocation i = invocation(model, {"y", "MatMul", 10, "3x8,8x4", "float32,float32", "3x4", "float32"});
  EXPECT_EQ(i.input(0)->dims, (std::vector<int64_t>{3, 8}));
  EXPECT_TRUE(i.input(1)->constant);
  EXPECT_FALSE(i.input(0)->constant);
}

TEST(Invocation, AWeightThatTheEnginePackedAwayComesFromTheGraph) {
  const model::Model model = text_model(kProduct);
  const Invocation i = invocation(model, {"y", "MatMul", 10, "3x8", "float32", "3x4", "float32"});
  ASSERT_EQ(i.inputs.size(), 2u);
  EXPECT_EQ(i.input(1)->dims, (std::vector<int64_t>{8, 4}));
  EXPECT_TRUE(i.input(1)->constant);
  EXPECT_EQ(cost_of(i).flops, 2 * 3 * 8 * 4);
}

TEST(Invocation, WithoutShapesInTheProfileTheGraphsAreTakenWhereKnown) {
  const model::Model model = text_model(kProduct);
  const Invocation i = invocation(model, {"y", "MatMul", 10});
  EXPECT_EQ(i.input(0), nullptr);  // n is free
  EXPECT_EQ(i.input(1)->dims, (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(cost_of(i).flops, -1);
}

TEST(Invocation, InputsAFusionAddedStayAtTheEnd) {
  const model::Model model = text_model(kProduct);
  const Invocation i =
      invocation(model, {"y", "FusedMatMul", 10, "3x8,8x4,4", "float32,float32,float32", "3x4", "float32"});
  ASSERT_EQ(i.inputs.size(), 3u);
  EXPECT_EQ(i.input(2)->dims, (std::vector<int64_t>{4}));
}

TEST(Invocation, ScalarsAreKnownAndQuestionMarksAreNot) {
  const model::Model model = text_model(kProduct);
  const Invocation i = invocation(model, {"engine's own", "Add", 10, ",?", "float32,float32", "", "float32"});
  ASSERT_NE(i.input(0), nullptr);
  EXPECT_EQ(i.input(0)->elements(), 1);
  EXPECT_EQ(i.input(1), nullptr);
}

TEST(Invocation, QuantizedProductsComputeInTheTypeOfTheirWeights) {
  const model::Model model = text_model(kProduct);
  EXPECT_EQ(
      computed_with(invocation(model, {"q", "DynamicQuantizeMatMul", 1, "3x8,8x4", "float32,int8", "3x4", "float32"})),
      model::DType::kInt8);
  EXPECT_EQ(computed_with(invocation(model, {"q", "MatMulNBits", 1, "3x8,4x1x4", "float32,uint8", "3x4", "float32"})),
            model::DType::kFloat);
}

}  // namespace
}  // namespace hone::diagnose
