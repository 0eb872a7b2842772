// weight_bandwidth_bound: reading the weights takes half of the latency.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::HasSubstr;

const std::string kProduct =
    "agraph (float[1,100] x) => (float[1,100] y) <" + weight("w", {100, 100}) + "> { [mm] y = MatMul(x, w) }";

TEST(WeightBandwidthBound, WeightsThatTakeHalfTheLatencyToReadAreTold) {
  const Diagnosis d = diagnosed(kProduct, {{"mm", "MatMul", 7}}, 7.5);  // 40 kB at 10 GB/s: 4 us
  const Finding* f = d.find("weight_bandwidth_bound");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 4 / 7.5, 1e-9);
  EXPECT_NEAR(f->upper_bound, 7.5 / 4.5, 1e-9);
  EXPECT_THAT(f->evidence, HasSubstr("10.0 GB/s measured for memory"));
}

TEST(WeightBandwidthBound, LessIsNot) {
  EXPECT_EQ(diagnosed(kProduct, {{"mm", "MatMul", 8}}, 8.5).find("weight_bandwidth_bound"), nullptr);
}

}  // namespace
}  // namespace hone::diagnose
