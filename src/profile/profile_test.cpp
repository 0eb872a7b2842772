// The parts all formats share: interning, choice of inferences, sums. SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <gmock/gmock.h>

#include <set>

#include "profile/format.h"
#include "profile/operators.h"

namespace hone::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Strings, TheSameTextHasTheSameIdAndSurvivesAMove) {
  Strings strings;
  const StringId conv = strings.intern("Conv");
  for (int i = 0; i < 1000; ++i) strings.intern("node" + std::to_string(i));
  EXPECT_EQ(strings.intern("Conv"), conv);
  EXPECT_EQ(strings.intern(""), 0u);
  Strings moved = std::move(strings);
  EXPECT_EQ(moved.intern("Conv"), conv);
  EXPECT_EQ(moved.text(conv), "Conv");
}

Profile with_steps(std::initializer_list<int64_t> durations) {
  Profile profile;
  int64_t at = 0;
  for (int64_t duration : durations) {
    profile.steps.push_back({at, duration, 0, 0, static_cast<int32_t>(profile.steps.size())});
    at += duration + 10;
  }
  return profile;
}

TEST(TypicalSteps, LeaveOutWarmUpAndBothEnds) {
  EXPECT_THAT(typical_steps(with_steps({900, 100, 500, 110, 90, 120})), ElementsAre(1, 3, 5));
}

TEST(TypicalSteps, KeepWhatThereIsWhenThereAreFew) {
  EXPECT_THAT(typical_steps(with_steps({900})), ElementsAre(0));
  EXPECT_THAT(typical_steps(with_steps({900, 100})), ElementsAre(0, 1));
  EXPECT_THAT(typical_steps(with_steps({})), IsEmpty());
}

TEST(Operators, PartsAddUpToTheBusyTimeAndSkipOtherInferences) {
  Profile profile = with_steps({900, 100, 100});
  const StringId add = profile.strings.intern("Add");
  auto kernel = [&](int64_t start, int64_t duration, int32_t step) {
    Kernel k;
    k.start_ns = start, k.duration_ns = duration, k.name = k.type = add, k.step = step;
    profile.kernels.push_back(k);
  };
  kernel(0, 800, 0);
  kernel(910, 30, 1);
  kernel(950, 20, 1);
  kernel(1020, 60, 2);
  kernel(5000, 60, -1);
  mark_nested(profile);
  const Operators sums = operators(profile);
  EXPECT_EQ(sums.wall_ns, 200);
  EXPECT_EQ(sums.busy_ns, 110);
  ASSERT_EQ(sums.rows.size(), 1u);
  EXPECT_EQ(sums.rows[0].self_ns, 110);
  EXPECT_EQ(sums.rows[0].calls, 3);
}

TEST(MarkNested, ACoarseClockMayLetAChildEndAfterItsParent) {
  Profile profile;
  profile.resolution_ns = 1000;
  for (auto [start, duration] : {std::pair{0, 10'000}, {1000, 10'000}}) {
    Kernel k;
    k.start_ns = start, k.duration_ns = duration;
    profile.kernels.push_back(k);
  }
  mark_nested(profile);
  EXPECT_EQ(profile.kernels[0].self_ns, 0);
  EXPECT_EQ(profile.kernels[1].self_ns, 10'000);
}

TEST(MarkNested, OneThatStartsWhereAnotherEndsIsItsNeighbour) {
  Profile profile;
  for (auto [start, duration] : {std::pair{0, 10}, {10, 10}, {20, 0}}) {
    Kernel k;
    k.start_ns = start, k.duration_ns = duration;
    profile.kernels.push_back(k);
  }
  mark_nested(profile);
  for (const Kernel& k : profile.kernels) EXPECT_EQ(k.self_ns, k.duration_ns);
}

TEST(Formats, EveryFormatFileIsInTheList) {
  std::set<std::string> listed, found;
  for (const Format& format : all_formats()) listed.emplace(format.id);
  for (const auto& entry : fs::directory_iterator(fs::path(HONE_TEST_DATA) / "../../src/profile/format")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".cpp" && !stem.ends_with("_test") && stem != "event_array") found.insert(stem);
  }
  EXPECT_EQ(listed, found);
}

}  // namespace
}  // namespace hone::profile
