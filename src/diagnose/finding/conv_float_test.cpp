// conv_float: float32 convolutions where the machine has something faster.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

const std::string kConv =
    "agraph (float[1,4,50,50] x) => (float[1,4,50,50] y) <" + weight("w", {4, 4, 1, 1}) + "> { [conv] y = Conv(x, w) }";

TEST(ConvFloat, ConvolutionsAreToldWhereBfloat16IsFaster) {
  const Finding* f = nullptr;
  const Diagnosis d = diagnosed(kConv, {{"conv", "Conv", 50}}, 100);
  ASSERT_NE(f = d.find("conv_float"), nullptr);
  EXPECT_NEAR(f->share, 0.5, 1e-9);
  // 80 kB of float32 become 40 kB: 4 us at 10 GB/s.
  EXPECT_NEAR(f->upper_bound, 100 / (50 + 4.0032), 1e-3);
}

TEST(ConvFloat, NotWhereNothingIsFaster) {
  Machine m = round_machine();
  m.gflops_bf16 = m.gops_int8 = 120;
  EXPECT_EQ(diagnosed(kConv, {{"conv", "Conv", 50}}, 100, {}, m).find("conv_float"), nullptr);
}

TEST(ConvFloat, NotForASmallPart) {
  EXPECT_EQ(diagnosed(kConv, {{"conv", "Conv", 9}}, 100).find("conv_float"), nullptr);
}

}  // namespace
}  // namespace hone::diagnose
