// unfused_qkv: products with constant weights that read one input.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

const std::string kThree = "agraph (float[8,16] x) => (float[8,16] q, float[8,16] k, float[8,16] v) <" +
                           weight("a", {16, 16}) + ", " + weight("b", {16, 16}) + ", " + weight("c", {16, 16}) +
                           "> { [q_] q = MatMul(x, a) [k_] k = MatMul(x, b) [v_] v = MatMul(x, c) }";

TEST(UnfusedQkv, AtTheRateOfTheFastestTheyWouldTakeLess) {
  const Diagnosis d = diagnosed(kThree, {{"q_", "MatMul", 30}, {"k_", "MatMul", 20}, {"v_", "MatMul", 20}}, 100);
  const Finding* f = d.find("unfused_qkv");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.7, 1e-9);
  EXPECT_NEAR(f->upper_bound, 100.0 / 90, 1e-9);
}

TEST(UnfusedQkv, EquallyFastOnesHaveNothingToGain) {
  EXPECT_EQ(
      diagnosed(kThree, {{"q_", "MatMul", 20}, {"k_", "MatMul", 20}, {"v_", "MatMul", 20}}, 100).find("unfused_qkv"),
      nullptr);
}

TEST(UnfusedQkv, ProductsOfDifferentInputsAreNot) {
  EXPECT_EQ(diagnosed("agraph (float[8,16] x) => (float[8,16] z) <" + weight("a", {16, 16}) +
                          "> { [one] y = MatMul(x, a) [two] z = MatMul(y, a) }",
                      {{"one", "MatMul", 40}, {"two", "MatMul", 20}}, 100)
                .find("unfused_qkv"),
            nullptr);
}

}  // namespace
}  // namespace hone::diagnose
