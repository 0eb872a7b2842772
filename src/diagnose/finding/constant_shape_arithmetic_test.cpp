// constant_shape_arithmetic: shapes computed anew although they are fixed.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::UnorderedElementsAre;

const std::string kShapes = R"(agraph (float[n,4] x) => (float[m] y) <int64[1] zero = {0}, int64[1] four = {4}> {
  [shape] s = Shape(x)
  [gather] g = Gather(s, zero)
  [times] t = Mul(g, four)
  [reshape] y = Reshape(x, t)
})";
const std::vector<Ran> kRuns = {
    {"shape", "Shape", 2}, {"gather", "Gather", 2}, {"times", "Mul", 2}, {"reshape", "Reshape", 84}};

TEST(ConstantShapeArithmetic, NodesThatFollowFromShapesAreToldWithTheirPartOutside) {
  Conditions conditions;
  conditions.shapes["x"] = {2, 4};
  const Diagnosis d = diagnosed(kShapes, kRuns, 100, conditions);
  const Finding* f = d.find("constant_shape_arithmetic");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->nodes, UnorderedElementsAre("shape", "gather", "times"));
  EXPECT_NEAR(f->share, 0.06 + 0.10 * 3 / 4, 1e-9);  // three of four kernels' part of the 10 us outside
}

TEST(ConstantShapeArithmetic, FreeShapesAreNot) {
  EXPECT_EQ(diagnosed(kShapes, kRuns, 100).find("constant_shape_arithmetic"), nullptr);
}

TEST(ConstantShapeArithmetic, ArithmeticOnDataIsNot) {
  EXPECT_EQ(diagnosed("agraph (int64[4] x) => (int64[4] y) <int64[1] four = {4}> { [a] y = Mul(x, four) }",
                      {{"a", "Mul", 90}}, 100)
                .find("constant_shape_arithmetic"),
            nullptr);
}

}  // namespace
}  // namespace hone::diagnose
