// The least time of an operator by hand. SPDX-License-Identifier: Apache-2.0
#include "diagnose/roofline.h"

#include <gtest/gtest.h>

#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using model::DType;

TEST(Roofline, TheSlowerOfComputingAndMovingCounts) {
  const Machine m = round_machine();
  const Roofline roof(m, 0, 0);
  EXPECT_DOUBLE_EQ(roof.least_ms({1e8, 1e6, 0}, DType::kFloat), 1.0);
  EXPECT_DOUBLE_EQ(roof.least_ms({1e8, 3e7, 0}, DType::kFloat), 3.0);
  EXPECT_DOUBLE_EQ(roof.least_ms({1e8, -1, 0}, DType::kInt8), 0.25);
  EXPECT_EQ(roof.least_ms({-1, -1, 0}, DType::kFloat), 0);
}

TEST(Roofline, FewerThreadsHaveLowerRoofs) {
  const Machine m = round_machine();
  const Roofline roof(m, 1, 0);
  EXPECT_DOUBLE_EQ(roof.compute_ms(1e8, DType::kFloat), 2.0);
  EXPECT_DOUBLE_EQ(roof.data_ms(1e7), 2.0);
  EXPECT_DOUBLE_EQ(roof.peak(DType::kInt8), 200);
}

TEST(Roofline, DataThatFitsACacheMovesAtItsBandwidth) {
  Machine m = round_machine();
  m.l2_bytes = 1 << 20, m.l2_bandwidth_gbs = 100;
  m.l3_bytes = 32 << 20, m.l3_bandwidth_gbs = 40;
  const Roofline small(m, 0, 900e3), middle(m, 0, 10e6), large(m, 0, 20e6);
  EXPECT_EQ(small.weights_place(), "L2");
  EXPECT_EQ(middle.weights_place(), "L3");
  EXPECT_EQ(large.weights_place(), "memory");
  EXPECT_DOUBLE_EQ(small.weights_ms(1e6), 0.01);
  EXPECT_DOUBLE_EQ(middle.weights_ms(4e6), 0.1);
  EXPECT_DOUBLE_EQ(large.weights_ms(1e7), 1.0);
  EXPECT_DOUBLE_EQ(large.data_ms(1e6), 0.01);  // activations are judged by their own size
}

TEST(Roofline, APeakThatWasNotMeasuredGivesNoRoof) {
  Machine m = round_machine();
  m.gflops_f32 = m.gflops_bf16 = m.gops_int8 = m.bandwidth_gbs = 0;
  EXPECT_EQ(Roofline(m, 0, 1e6).least_ms({1e8, 1e6, 1e5}, DType::kFloat), 0);
}

}  // namespace
}  // namespace hone::diagnose
