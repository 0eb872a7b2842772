// SPDX-License-Identifier: Apache-2.0
#include "base/statistics.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Statistics, OfNothingAreNought) {
  EXPECT_EQ(mean_of({}), 0);
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(quantile_of_sorted({}, 0.25), 0);
}

TEST(Statistics, TheMedianOfAnEvenNumberIsBetweenTheMiddleTwo) {
  EXPECT_EQ(median_of({9, 1, 5}), 5);
  EXPECT_EQ(median_of({9, 1, 5, 2}), 3.5);
  EXPECT_EQ(mean_of({9, 1, 5, 1}), 4);
}

TEST(Statistics, QuantilesAreLinearBetweenValues) {
  EXPECT_EQ(quantile_of_sorted({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_DOUBLE_EQ(quantile_of_sorted({1, 2, 3, 4}, 0.25), 1.75);
  EXPECT_EQ(quantile_of_sorted({1, 3}, 0), 1);
  EXPECT_EQ(quantile_of_sorted({1, 3}, 1), 3);
  EXPECT_EQ(quantile_of_sorted({1, 2, 4}, 0.75), 3);
}

}  // namespace
}  // namespace hone
