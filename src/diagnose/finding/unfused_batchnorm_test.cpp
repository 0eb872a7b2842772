// unfused_batchnorm: scales and shifts that a convolution could absorb.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::ElementsAre;

std::string conv_then(const std::string& rest, const std::string& constant) {
  return "agraph (float[1,4,8,8] x) => (float[1,4,8,8] y) <" + weight("w", {4, 4, 1, 1}) + ", " + constant +
         "> { [conv] c = Conv(x, w) " + rest + "}";
}

TEST(UnfusedBatchNorm, BatchNormalizationAfterAConvolution) {
  const Diagnosis d = diagnosed(conv_then("[bn] y = BatchNormalization(c, s, s, s, s)", weight("s", {4})),
                                {{"conv", "Conv", 80}, {"bn", "BatchNormalization", 10}}, 100);
  ASSERT_NE(d.find("unfused_batchnorm"), nullptr);
  EXPECT_NEAR(d.find("unfused_batchnorm")->upper_bound, 100.0 / 90, 1e-9);
  EXPECT_THAT(d.find("unfused_batchnorm")->nodes, ElementsAre("bn"));
}

TEST(UnfusedBatchNorm, AChainOfScalesAndShiftsPerChannel) {
  const Diagnosis d =
      diagnosed(conv_then("[a] m = Mul(c, s) [b] y = Add(m, t)", weight("s", {1, 4, 1, 1}) + ", float t = {1.0}"),
                {{"conv", "Conv", 80}, {"a", "Mul", 5}, {"b", "Add", 5}}, 100);
  ASSERT_NE(d.find("unfused_batchnorm"), nullptr);
  EXPECT_NEAR(d.find("unfused_batchnorm")->share, 0.1, 1e-9);
}

TEST(UnfusedBatchNorm, NotWhenTheEngineFoldedItOrItIsNoChannelScale) {
  EXPECT_EQ(
      diagnosed(conv_then("[bn] y = BatchNormalization(c, s, s, s, s)", weight("s", {4})), {{"bn", "Conv", 80}}, 100)
          .find("unfused_batchnorm"),
      nullptr);
  EXPECT_EQ(diagnosed(conv_then("[a] y = Mul(c, s)", weight("s", {8, 8})), {{"conv", "Conv", 80}, {"a", "Mul", 5}}, 100)
                .find("unfused_batchnorm"),
            nullptr);
  EXPECT_EQ(diagnosed(conv_then("[a] r = Relu(c) [b] y = Mul(r, c)", weight("s", {4})),
                      {{"conv", "Conv", 80}, {"a", "Relu", 5}, {"b", "Mul", 5}}, 100)
                .find("unfused_batchnorm"),
            nullptr);
}

}  // namespace
}  // namespace hone::diagnose
