// matmul_weights_float: float32 products with constant weights, a tenth of the latency.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::ElementsAre;

const std::string kProduct =
    "agraph (float[100,100] x) => (float[100,100] y) <" + weight("w", {100, 100}) + "> { [mm] y = MatMul(x, w) }";

TEST(MatMulWeightsFloat, FloatProductsAreBoundByTheirInt8Roof) {
  // 2e6 FLOPs take 5 us in int8; 10 kB of int8 weights and 80 kB of activations take 9 us, which is more.
  const Diagnosis d = diagnosed(kProduct, {{"mm", "MatMul", 60}}, 100);
  const Finding* f = d.find("matmul_weights_float");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.6, 1e-9);
  EXPECT_NEAR(f->upper_bound, 100.0 / 49, 1e-9);
  EXPECT_EQ(f->priority, Priority::kP0);
  EXPECT_THAT(f->nodes, ElementsAre("mm"));
}

TEST(MatMulWeightsFloat, ASmallPartIsNot) {
  EXPECT_EQ(diagnosed(kProduct, {{"mm", "MatMul", 9}}, 100).find("matmul_weights_float"), nullptr);
}

TEST(MatMulWeightsFloat, ProductsOfActivationsAndQuantizedOnesAreNot) {
  EXPECT_EQ(diagnosed("agraph (float[100,100] x) => (float[100,100] y) { [mm] y = MatMul(x, x) }",
                      {{"mm", "MatMul", 60}}, 100)
                .find("matmul_weights_float"),
            nullptr);
  EXPECT_EQ(diagnosed(kProduct, {{"mm", "MatMulInteger", 60, "100x100,100x100", "uint8,int8", "100x100", "int32"}}, 100)
                .find("matmul_weights_float"),
            nullptr);
}

}  // namespace
}  // namespace hone::diagnose
