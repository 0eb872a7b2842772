// outside_kernel_time: from 10 % of the latency on.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::HasSubstr;

const std::string kRelu = "agraph (float[100] x) => (float[100] y) { [r] y = Relu(x) }";

TEST(OutsideKernelTime, ATenthOfTheLatencyIsTold) {
  const Diagnosis d = diagnosed(kRelu, {{"r", "Relu", 890}}, 1000);
  const Finding* f = d.find("outside_kernel_time");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.11, 1e-9);
  EXPECT_NEAR(f->upper_bound, 1000.0 / 890, 1e-9);
  EXPECT_EQ(f->priority, Priority::kP1);
  EXPECT_THAT(f->evidence, HasSubstr("the profiler's own time is in it"));
}

TEST(OutsideKernelTime, LessIsNot) {
  EXPECT_EQ(diagnosed(kRelu, {{"r", "Relu", 910}}, 1000).find("outside_kernel_time"), nullptr);
}

TEST(OutsideKernelTime, WithALatencyMeasuredApartThatOneCounts) {
  Conditions conditions;
  conditions.latency_ms = 0.95;
  EXPECT_EQ(diagnosed(kRelu, {{"r", "Relu", 890}}, 1000, conditions).find("outside_kernel_time"), nullptr);
}

}  // namespace
}  // namespace hone::diagnose
