// SPDX-License-Identifier: Apache-2.0
#include "measure/device_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace hone::measure {
namespace {

class DeviceLockTest : public testing::Test {
 protected:
  ScratchFolder scratch_ = ScratchFolder::create("hone-test").value();
  fs::path file() const { return scratch_.path() / "cpu.lock"; }
  int waits_ = 0;
  Result<DeviceLock> take(int patience) {
    return DeviceLock::take(file(), [&] { ++waits_; }, [patience]() mutable { return patience-- <= 0; });
  }
};

TEST_F(DeviceLockTest, IsTakenAtOnceWhenNobodyHasIt) {
  EXPECT_TRUE(take(0).has_value());
  EXPECT_TRUE(take(0).has_value()) << "and again after it was given back";
  EXPECT_EQ(waits_, 0);
}

TEST_F(DeviceLockTest, ASecondRunWaitsSaysSoOnceAndCanBeStopped) {
  const DeviceLock first = take(0).value();
  const auto second = take(2);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(waits_, 1);
}

TEST_F(DeviceLockTest, AFileThatCanNotBeOpenedIsAnError) {
  const auto lock = DeviceLock::take(scratch_.path() / "no" / "such.lock", [] {}, [] { return true; });
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().kind, ErrorKind::kIo);
}

// In a folder that all users may write to.
TEST_F(DeviceLockTest, APlantedLinkIsNotFollowed) {
  fs::create_symlink(scratch_.path() / "victim", file());
  const auto lock = take(0);
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().kind, ErrorKind::kIo);
  EXPECT_FALSE(fs::exists(scratch_.path() / "victim"));
}

TEST_F(DeviceLockTest, APlantedPipeOrFolderIsAnErrorAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(file().c_str(), 0644), 0);
  EXPECT_EQ(take(0).error().kind, ErrorKind::kIo);
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_EQ(take(0).error().kind, ErrorKind::kIo);
}

}  // namespace
}  // namespace hone::measure
