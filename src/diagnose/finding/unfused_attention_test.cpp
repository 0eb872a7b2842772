// unfused_attention: products and Softmax as separate kernels.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::UnorderedElementsAre;

const std::string kAttention = R"(agraph (float[1,2,8,4] q, float[1,2,4,8] k, float[1,2,8,4] v, float[1,1,8,8] mask)
                                   => (float[1,2,8,4] y) <float s = {0.5}> {
  [qk] a = MatMul(q, k)
  [scale] b = Mul(a, s)
  [add] c = Add(b, mask)
  [softmax] p = Softmax<axis = -1>(c)
  [pv] y = MatMul(p, v)
})";

TEST(UnfusedAttention, SeparateKernelsAreToldAndTheProductsStay) {
  const Diagnosis d = diagnosed(
      kAttention,
      {{"qk", "MatMul", 20}, {"scale", "Mul", 5}, {"add", "Add", 5}, {"softmax", "Softmax", 10}, {"pv", "MatMul", 20}},
      100);
  const Finding* f = d.find("unfused_attention");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.6, 1e-9);
  EXPECT_THAT(f->nodes, UnorderedElementsAre("qk", "scale", "add", "softmax", "pv"));
  EXPECT_LT(f->upper_bound, 2.5);
  EXPECT_GT(f->upper_bound, 2.4);
}

TEST(UnfusedAttention, OneKernelForAllIsNot) {
  EXPECT_EQ(
      diagnosed(kAttention, {{"softmax/AttentionFusion/", "MultiHeadAttention", 60}}, 100).find("unfused_attention"),
      nullptr);
}

TEST(UnfusedAttention, ASoftmaxOfScoresFromConstantWeightsIsAClassifier) {
  EXPECT_EQ(diagnosed("agraph (float[1,4] x) => (float[1,4] y) <" + weight("w", {4, 4}) +
                          "> { [mm] a = MatMul(x, w) [softmax] p = Softmax(a) [mm2] y = MatMul(p, w) }",
                      {{"mm", "MatMul", 20}, {"softmax", "Softmax", 20}, {"mm2", "MatMul", 20}}, 100)
                .find("unfused_attention"),
            nullptr);
}

}  // namespace
}  // namespace hone::diagnose
