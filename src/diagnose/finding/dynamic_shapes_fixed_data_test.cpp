// dynamic_shapes_fixed_data: free dimensions, one shape of data.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::HasSubstr;

const std::string kShapes = R"(agraph (float[n,4] x) => (float[m] y) <int64[1] zero = {0}, int64[1] four = {4}> {
  [shape] s = Shape(x)
  [gather] g = Gather(s, zero)
  [times] t = Mul(g, four)
  [reshape] y = Reshape(x, t)
})";
const std::vector<Ran> kRuns = {
    {"shape", "Shape", 2}, {"gather", "Gather", 2}, {"times", "Mul", 2}, {"reshape", "Reshape", 84}};

TEST(DynamicShapesFixedData, FreeInputsWithOneShapeOfDataAreTold) {
  Conditions conditions;
  conditions.shapes["x"] = {2, 4};
  const Diagnosis d = diagnosed(kShapes, kRuns, 100, conditions);
  const Finding* f = d.find("dynamic_shapes_fixed_data");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->evidence, HasSubstr("x is always [2,4]"));
  EXPECT_NEAR(f->upper_bound, 100 / (100 - 13.5), 1e-9);
}

TEST(DynamicShapesFixedData, DataOfSeveralShapesOrAFixedModelIsNot) {
  EXPECT_EQ(diagnosed(kShapes, kRuns, 100).find("dynamic_shapes_fixed_data"), nullptr);
  Conditions conditions;
  conditions.shapes["x"] = {2, 4};
  EXPECT_EQ(
      diagnosed("agraph (float[2,4] x) => (float[2,4] y) { [r] y = Relu(x) }", {{"r", "Relu", 90}}, 100, conditions)
          .find("dynamic_shapes_fixed_data"),
      nullptr);
}

}  // namespace
}  // namespace hone::diagnose
