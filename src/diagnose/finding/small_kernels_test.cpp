// small_kernels: many of them, short, and a good part of the latency.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::HasSubstr;

const std::string kRelu = "agraph (float[100] x) => (float[100] y) { [r] y = Relu(x) }";

std::vector<Ran> reps(int count, double us) { return std::vector<Ran>(static_cast<size_t>(count), {"r", "Relu", us}); }

TEST(SmallKernels, ManyShortKernelsAreTold) {
  const Diagnosis d = diagnosed(kRelu, reps(30, 10), 310);
  const Finding* f = d.find("small_kernels");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->upper_bound, 310.0 / 250, 1e-9);  // 2 us each
  EXPECT_THAT(f->evidence, HasSubstr("30 kernels under 20 us"));
}

TEST(SmallKernels, OverheadIsAtMostHalfOfAKernel) {
  EXPECT_NEAR(diagnosed(kRelu, reps(30, 2), 60).find("small_kernels")->upper_bound, 2, 1e-9);
}

TEST(SmallKernels, FewOrLongOrUnimportantOnesAreNot) {
  EXPECT_EQ(diagnosed(kRelu, reps(19, 10), 200).find("small_kernels"), nullptr);
  EXPECT_EQ(diagnosed(kRelu, reps(30, 21), 640).find("small_kernels"), nullptr);
  EXPECT_EQ(diagnosed(kRelu, reps(30, 10), 1600).find("small_kernels"), nullptr);
}

}  // namespace
}  // namespace hone::diagnose
