// at_hardware_limit: the dominant class near the measured peak.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

// 2e7 FLOPs: 200 us at the machine's peak.
std::vector<Ran> product(double us) {
  return {{"mm", "MatMul", us, "1000x100,100x100", "float32,float32", "1000x100", "float32"}};
}
const std::string kProduct =
    "agraph (float[1000,100] x) => (float[1000,100] y) <" + weight("w", {100, 100}) + "> { [mm] y = MatMul(x, w) }";

TEST(AtHardwareLimit, NearThePeakIsTold) {
  const Diagnosis d = diagnosed(kProduct, product(245), 400);
  const Finding* f = d.find("at_hardware_limit");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 245.0 / 400, 1e-9);
  EXPECT_NEAR(f->upper_bound, 400.0 / 355, 1e-9);
}

TEST(AtHardwareLimit, FartherAwayOrASmallerPartIsNot) {
  EXPECT_EQ(diagnosed(kProduct, product(255), 400).find("at_hardware_limit"), nullptr);
  EXPECT_EQ(diagnosed(kProduct, product(245), 420).find("at_hardware_limit"), nullptr);
}

}  // namespace
}  // namespace hone::diagnose
