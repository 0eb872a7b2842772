// Sets of intervals: small cases by hand, and laws held against a slow count of covered points.
// SPDX-License-Identifier: Apache-2.0
#include "profile/interval.h"

#include <gtest/gtest.h>

#include <random>

namespace hone::profile {
namespace {

TEST(Interval, MergeJoinsOverlappingAndTouchingOnesAndDropsEmptyOnes) {
  EXPECT_EQ(merge({{5, 9}, {0, 3}, {3, 5}, {20, 20}, {30, 25}, {12, 14}, {6, 7}}), (Merged{{0, 9}, {12, 14}}));
}

TEST(Interval, LengthsAreExactWhereADoubleIsNot) {
  const int64_t epoch_ns = 1719565436723456789;
  EXPECT_EQ(length(merge({{epoch_ns, epoch_ns + 100}, {epoch_ns + 200, epoch_ns + 201}})), 101);
}

TEST(Interval, DifferenceCutsHolesAndEdges) {
  EXPECT_EQ(difference({{0, 10}, {20, 30}}, {{2, 3}, {5, 22}, {29, 40}}), (Merged{{0, 2}, {3, 5}, {22, 29}}));
}

TEST(Interval, GapsAreWhatTheWindowHasAndTheSetHasNot) {
  EXPECT_EQ(gaps({{-5, 2}, {4, 6}}, {0, 10}), (Merged{{2, 4}, {6, 10}}));
  EXPECT_EQ(gaps({}, {0, 10}), (Merged{{0, 10}}));
}

Merged random_set(std::mt19937& random) {
  std::vector<Interval> intervals(random() % 9);
  for (Interval& interval : intervals) {
    interval.begin = static_cast<int64_t>(random() % 60);
    interval.end = interval.begin + static_cast<int64_t>(random() % 12);
  }
  return merge(std::move(intervals));
}

bool covers(const Merged& set, int64_t point) {
  for (const Interval& interval : set)
    if (interval.begin <= point && point < interval.end) return true;
  return false;
}

TEST(Interval, OperationsAgreeWithCountingPointByPoint) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const Merged a = random_set(random), b = random_set(random);
    const Merged both = intersection(a, b), rest = difference(a, b), part = clip(a, {10, 40});
    for (int64_t point = -1; point < 75; ++point) {
      ASSERT_EQ(covers(both, point), covers(a, point) && covers(b, point));
      ASSERT_EQ(covers(rest, point), covers(a, point) && !covers(b, point));
      ASSERT_EQ(covers(part, point), covers(a, point) && point >= 10 && point < 40);
    }
    ASSERT_EQ(length(both) + length(rest), length(a));
    for (size_t i = 1; i < rest.size(); ++i) ASSERT_LT(rest[i - 1].end, rest[i].begin);
  }
}

}  // namespace
}  // namespace hone::profile
