// The cache of peaks, and one very short real measurement (its figures only have to be there and in order).
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/peaks.h"

#include <gmock/gmock.h>

#include <chrono>

namespace hone::diagnose {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Machine measured(double gflops) {
  Machine m = describe_machine();
  m.gflops_f32 = gflops;
  m.gops_int8 = 4 * gflops;
  m.bandwidth_gbs = 12.5;
  return m;
}

class PeaksCache : public ::testing::Test {
 protected:
  Result<Machine> peaks(double gflops) {
    return machine_peaks(folder_.path() / "hone", [&, gflops]() -> Result<Machine> {
      ++measurements_;
      return measured(gflops);
    });
  }
  fs::path file() {
    for (const auto& entry : fs::directory_iterator(folder_.path() / "hone")) return entry.path();
    return {};
  }
  ScratchFolder folder_ = ScratchFolder::create("hone-peaks-test").value();
  int measurements_ = 0;
};

TEST_F(PeaksCache, TheSecondCallReadsWhatTheFirstMeasured) {
  EXPECT_EQ(peaks(100)->gflops_f32, 100);
  const Machine second = peaks(200).value();
  EXPECT_EQ(second.gflops_f32, 100);
  EXPECT_EQ(second.bandwidth_gbs, 12.5);
  EXPECT_EQ(measurements_, 1);
  EXPECT_THAT(second.notes, IsEmpty());
  EXPECT_EQ(file().filename(), machine_cache_file(describe_machine()).filename());
}

TEST_F(PeaksCache, AnUnreadableCacheIsMeasuredAnewWithANoteAndReplaced) {
  ASSERT_TRUE(peaks(100));
  ASSERT_TRUE(write_file(file(), "{\"cpu\": \"half a fi"));
  const Machine again = peaks(200).value();
  EXPECT_EQ(again.gflops_f32, 200);
  EXPECT_THAT(again.notes, ElementsAre(HasSubstr("can't be read")));
  EXPECT_EQ(peaks(300)->gflops_f32, 200);
}

TEST_F(PeaksCache, ACacheOfAnOlderFormIsMeasuredAnew) {
  ASSERT_TRUE(peaks(100));
  ASSERT_TRUE(write_file(file(), "{\"cpu\": \"x\"}"));
  EXPECT_EQ(peaks(200)->gflops_f32, 200);
}

TEST_F(PeaksCache, WhereItCanNotBeWrittenTheFiguresAreStillThere) {
  ASSERT_TRUE(write_file(folder_.path() / "hone", "a file where the folder should be"));
  const Machine m = peaks(100).value();
  EXPECT_EQ(m.gflops_f32, 100);
  EXPECT_THAT(m.notes, Contains(HasSubstr("could not be cached")));
}

TEST_F(PeaksCache, FiguresTakenBesideOtherLoadAreBelievedForAnHour) {
  auto loaded = [&]() -> Result<Machine> {
    Machine m = measured(100);
    m.notes.push_back("measured while other programs used the cores: bandwidths are rough");
    return m;
  };
  ASSERT_TRUE(machine_peaks(folder_.path() / "hone", loaded));
  EXPECT_EQ(peaks(200)->gflops_f32, 100);
  fs::last_write_time(file(), fs::file_time_type::clock::now() - std::chrono::minutes(61));
  EXPECT_EQ(peaks(300)->gflops_f32, 300);
  fs::last_write_time(file(), fs::file_time_type::clock::now() - std::chrono::hours(24));
  EXPECT_EQ(peaks(400)->gflops_f32, 300);
}

TEST(Machine, SurvivesJson) {
  Machine m = measured(321.5);
  m.notes = {"a note"};
  const Machine back = Machine::from_json(parse_json(dump_json(m.to_json()), "").value()).value();
  EXPECT_EQ(dump_json(back.to_json()), dump_json(m.to_json()));
  EXPECT_FALSE(Machine::from_json(Json{{"cpu", 3}}));
}

TEST(Peaks, AShortMeasurementGivesFiguresInOrder) {
  const Machine m = measure_machine(0.1).value();
  EXPECT_GT(m.gflops_f32, 0.1);
  EXPECT_GT(m.gflops_f32_one, 0.1);
  EXPECT_GT(m.bandwidth_gbs, 0.01);
  EXPECT_GT(m.bandwidth_gbs_one, 0.01);
  EXPECT_THAT(m.notes, Contains(HasSubstr("less than twice L3")));
}

}  // namespace
}  // namespace hone::diagnose
