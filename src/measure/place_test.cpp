// SPDX-License-Identifier: Apache-2.0
#include "measure/place.h"

#include <gtest/gtest.h>

namespace hone::measure {
namespace {

worker::Canary canary(double ping, double fma0 = .487, double fma1 = .487) { return {ping, {fma0, fma1}}; }

TEST(Place, IsTheTableOfTheProtocol) {
  Calibration c;
  c.ping_bounds_ns = {100};
  EXPECT_EQ(place_of(canary(40), c, .487), kNear);
  EXPECT_EQ(place_of(canary(170), c, .487), kFar);
  EXPECT_EQ(place_of(canary(35, .975, .975), c, .487), kSibling);
  EXPECT_EQ(place_of(canary(35, .975, .49), c, .487), kNear) << "one slow CPU was interrupted";
  EXPECT_EQ(place_of(canary(35, .975, .975), c, 0), kNear) << "the usual time is not known";
  EXPECT_EQ(place_of(canary(0, .975, .975), c, .487), kOne) << "one CPU";
  c.ping_bounds_ns = {60, 120, 400};
  EXPECT_EQ(place_of(canary(200), c, .487), "far2");
  c.one_place = true;
  EXPECT_EQ(place_of(canary(170), c, .487), kOne);
}

TEST(Place, DefaultsComeFromTheKindOfMachine) {
  EXPECT_TRUE(default_calibration("vendor_id\t: AuthenticAMD\nflags\t\t: fpu sse2 avx2\n").one_place);
  const Calibration guest = default_calibration("vendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor avx2\n");
  EXPECT_FALSE(guest.one_place);
  EXPECT_EQ(guest.ping_bounds_ns, std::vector<double>{100});
  EXPECT_EQ(default_calibration("vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n").ping_bounds_ns[0], 200);
  EXPECT_FALSE(default_calibration("").one_place);
}

TEST(Places, LearnTheUsualFmaTimeAndSeeMoves) {
  Calibration c;
  c.ping_bounds_ns = {100};
  MachineWatch watch;
  Places places(c, watch);
  EXPECT_EQ(places.classify(canary(40, .98, .98)), kNear) << "nothing to compare with yet";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(places.classify(canary(40, .45 + .02 * i, .5)), kNear);
  EXPECT_EQ(places.classify(canary(40, .98, .98)), kSibling);
  for (int i = 0; i < 500; ++i) places.classify(canary(40, .30, .30));
  EXPECT_EQ(places.classify(canary(40)), kSibling) << "the machine became faster; 0.487 is now slow";
  EXPECT_EQ(watch.recent_fma_ms.size(), 200u);
  for (int i = 0; i < 500; ++i) places.classify(canary(40));
  worker::BlockResult block;
  block.before = canary(40);
  block.after = canary(170);
  EXPECT_EQ(places.classify(block), kMoved);
  block.before = canary(160);
  EXPECT_EQ(places.classify(block), kFar);
}

TEST(Calibration, RoundTripsThroughJson) {
  Calibration c;
  c.one_place = true, c.ping_bounds_ns = {61.5, 130}, c.fma_usual_ms = .4, c.measured = true;
  auto read = Calibration::from_json(c.to_json());
  ASSERT_TRUE(read);
  EXPECT_EQ(dump_json(read->to_json()), dump_json(c.to_json()));
}

TEST(Calibration, IsKeptForThisKindOfMachine) {
  auto folder = ScratchFolder::create("hone-calibration");
  ASSERT_TRUE(folder);
  EXPECT_FALSE(machine_calibration(folder->path()).measured);
  Calibration c;
  c.ping_bounds_ns = {77}, c.measured = true;
  ASSERT_TRUE(store_calibration(c, folder->path() / "new"));
  EXPECT_EQ(machine_calibration(folder->path() / "new").ping_bounds_ns, std::vector<double>{77});
  for (const auto& entry : fs::directory_iterator(folder->path() / "new")) ASSERT_TRUE(write_file(entry.path(), "{"));
  EXPECT_FALSE(machine_calibration(folder->path() / "new").measured) << "damaged: the default";
  EXPECT_FALSE(store_calibration(c, "")) << "no cache folder";
}

}  // namespace
}  // namespace hone::measure
