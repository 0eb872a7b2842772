// SPDX-License-Identifier: Apache-2.0
#include "run/lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/layout.h"

namespace hone::run {
namespace {

class LockTest : public testing::Test {
 protected:
  ScratchFolder scratch_ = ScratchFolder::create("hone-test").value();
  const fs::path& folder() const { return scratch_.path(); }

  // A child that takes the lock and waits to be killed; returns when it has the lock.
  pid_t child_with_lock() {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto lock = Lock::take(folder());
      const char ok = lock.has_value() ? 'y' : 'n';
      if (::write(ready[1], &ok, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char ok = 0;
    EXPECT_EQ(::read(ready[0], &ok, 1), 1);
    EXPECT_EQ(ok, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
    return child;
  }

  static void kill_child(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
};

TEST_F(LockTest, SaysWhoHoldsItAndIsGoneAfterwards) {
  {
    const Lock lock = Lock::take(folder()).value();
    const auto owner = parse_owner(read_file(folder() / kLock).value());
    ASSERT_TRUE(owner.has_value());
    EXPECT_EQ(owner->pid, ::getpid());
    EXPECT_EQ(owner->start, this_process().start);
    EXPECT_EQ(owner->boot, this_process().boot);
    EXPECT_FALSE(lock.broken().has_value());
  }
  EXPECT_FALSE(fs::exists(folder() / kLock));
}

TEST_F(LockTest, ASecondOneIsRefusedWithTheOwnersPid) {
  const pid_t child = child_with_lock();
  const auto second = Lock::take(folder());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(exit_status(second.error().kind), 2);
  EXPECT_NE(second.error().line().find("pid " + std::to_string(child)), std::string::npos) << second.error().line();
  EXPECT_TRUE(fs::exists(folder() / kLock)) << "the refused one must not remove the owner's lock";
  kill_child(child);
}

TEST_F(LockTest, OneLeftByAKilledProcessIsBrokenAndSaidSo) {
  const pid_t child = child_with_lock();
  kill_child(child);
  const auto lock = Lock::take(folder());
  ASSERT_TRUE(lock.has_value()) << lock.error().line();
  ASSERT_TRUE(lock->broken().has_value());
  EXPECT_EQ(lock->broken()->pid, child);
}

TEST_F(LockTest, ItWaitsForAChildThatOutlivesTheKilledOwnerForAMoment) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto lock = Lock::take(folder());
    // The grandchild has the descriptor, as a worker between fork and exec has; it ends when told to.
    if (::fork() == 0) {
      ::usleep(300'000);
      ::_exit(0);
    }
    if (::write(ready[1], "y", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char ok = 0;
  ASSERT_EQ(::read(ready[0], &ok, 1), 1);
  ::close(ready[0]);
  ::close(ready[1]);
  kill_child(owner);
  const auto lock = Lock::take(folder());
  ASSERT_TRUE(lock.has_value()) << lock.error().line();
  EXPECT_EQ(lock->broken()->pid, owner);
}

TEST_F(LockTest, OneOfAnotherMachineIsNotBroken) {
  LockOwner other = this_process();
  other.boot = "0000";
  other.host = "elsewhere";
  ASSERT_TRUE(write_file(folder() / kLock, to_text(other)).has_value());
  EXPECT_FALSE(Lock::take(folder()).has_value());
  other.host = this_process().host;  // the same machine, before a reboot
  ASSERT_TRUE(write_file(folder() / kLock, to_text(other)).has_value());
  EXPECT_TRUE(Lock::take(folder()).has_value());
}

TEST_F(LockTest, AnEmptyOrDamagedLockFileIsTakenOver) {
  for (const char* text : {"", "pid", "garbage \n\n", "pid x boot y"}) {
    ASSERT_TRUE(write_file(folder() / kLock, text).has_value());
    EXPECT_TRUE(Lock::take(folder()).has_value()) << text;
  }
}

}  // namespace
}  // namespace hone::run
