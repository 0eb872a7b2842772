// low_efficiency_kernels: the dominant class below half of its roof.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 2e7 FLOPs: 200 us at the machine's peak.
std::vector<Ran> product(double us) {
  return {{"mm", "MatMul", us, "1000x100,100x100", "float32,float32", "1000x100", "float32"}};
}
const std::string kProduct =
    "agraph (float[1000,100] x) => (float[1000,100] y) <" + weight("w", {100, 100}) + "> { [mm] y = MatMul(x, w) }";

TEST(LowEfficiencyKernels, BelowHalfOfTheRoofIsTold) {
  const Diagnosis d = diagnosed(kProduct, product(500), 600);
  const Finding* f = d.find("low_efficiency_kernels");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->upper_bound, 600 / (600.0 - (500 - 250)), 1e-9);  // to 80 % of the peak
  EXPECT_THAT(f->evidence, HasSubstr("at 40 GFLOP/s"));
  EXPECT_THAT(f->nodes, ElementsAre("mm"));
}

TEST(LowEfficiencyKernels, AboveHalfOrASmallPartIsNot) {
  EXPECT_EQ(diagnosed(kProduct, product(390), 500).find("low_efficiency_kernels"), nullptr);
  EXPECT_EQ(diagnosed(kProduct, product(500), 1700).find("low_efficiency_kernels"), nullptr);
}

TEST(LowEfficiencyKernels, OneThreadIsHeldAgainstOneCore) {
  Conditions conditions;
  conditions.threads = 1;
  EXPECT_EQ(diagnosed(kProduct, product(500), 600, conditions).find("low_efficiency_kernels"), nullptr);
}

}  // namespace
}  // namespace hone::diagnose
