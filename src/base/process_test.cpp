// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/memory.h"

namespace hone {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kLong{20'000};

Command shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

bool alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string id, name, state;
  return static_cast<bool>(file >> id >> name >> state) && state != "Z";
}

// Waits until a process that we did not start (and can't wait for) is gone.
bool gone_soon(pid_t pid) {
  for (int i = 0; i < 2000 && alive(pid); ++i) ::usleep(5000);
  return !alive(pid);
}

TEST(RunProcess, GivesOutputAndStatus) {
  auto result = run_process(shell("echo one; echo two >&2; exit 3"), kLong);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit.status, 3);
  EXPECT_EQ(result->exit.text(), "exit status 3");
  EXPECT_EQ(result->out, "one\n");
  EXPECT_THAT(result->output, HasSubstr("two\n"));
  EXPECT_FALSE(result->timed_out);
}

TEST(RunProcess, NamesTheSignal) {
  auto result = run_process(shell("kill -SEGV $$"), kLong);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->exit.ok());
  EXPECT_EQ(result->exit.signal, SIGSEGV);
  EXPECT_EQ(result->exit.text(), "SIGSEGV (segmentation fault)");
}

TEST(RunProcess, AProgramThatIsMissingIsAnError) {
  auto result = run_process({.argv = {"no-such-program-here"}}, kLong);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kToolFailed);
  EXPECT_EQ(result.error().line(), "can't start program (No such file or directory): no-such-program-here");
}

TEST(RunProcess, AHangIsKilledWithAllItStarted) {
  auto result = run_process(shell("sleep 1000 & echo $!; wait"), milliseconds(300));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->exit.signal, SIGKILL);
  const pid_t grandchild = std::stoi(result->out);
  EXPECT_TRUE(gone_soon(grandchild));
}

TEST(RunProcess, DoesNotWaitForWhatTheProgramLeftBehind) {
  auto result = run_process(shell("sleep 1000 & echo $!"), kLong);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->timed_out);
  EXPECT_TRUE(gone_soon(std::stoi(result->out)));
}

TEST(RunProcess, KeepsTheEndOfALongOutput) {
  auto result = run_process(shell("seq 1 300000; echo end"), kLong, 100);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out.size(), 100u);
  EXPECT_THAT(result->out, HasSubstr("300000\nend\n"));
}

TEST(RunProcess, EnvironmentFolderAndLogAreTheCommands) {
  ::setenv("HONE_TEST_GONE", "x", 1);
  auto folder = ScratchFolder::create("hone-test");
  ASSERT_TRUE(folder);
  Command command = shell("echo $HONE_TEST_SET-$HONE_TEST_GONE-; pwd");
  command.env = {{"HONE_TEST_SET", "a b"}, {"HONE_TEST_GONE", std::nullopt}};
  command.folder = folder->path();
  command.log = folder->path() / "log";
  ASSERT_TRUE(run_process(command, kLong));
  EXPECT_EQ(*read_file(command.log), "a b--\n" + fs::canonical(folder->path()).string() + "\n");
  ::unsetenv("HONE_TEST_GONE");
}

TEST(RunProcess, RunsOnTheCpusOfTheCommand) {
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &set)) ++cpu;
  Command command = shell("grep Cpus_allowed_list /proc/self/status");
  command.cpus = {cpu};
  auto result = run_process(command, kLong);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
  command.cpus = {1020};
  EXPECT_FALSE(run_process(command, kLong)) << "a CPU this machine has not";
}

TEST(Process, HasASessionOfItsOwnAndNoInheritedSignalMask) {
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &old);
  auto result = run_process(shell("cut -d' ' -f1,6 /proc/self/stat; grep SigBlk /proc/self/status; ulimit -c"), kLong);
  sigprocmask(SIG_SETMASK, &old, nullptr);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->out, HasSubstr("SigBlk:\t0000000000000000\n"));
  EXPECT_THAT(result->out, testing::EndsWith("\n0\n"));
  int self = 0, session = 0;
  std::sscanf(result->out.c_str(), "%d %d", &self, &session);
  EXPECT_NE(session, ::getsid(0));
}

TEST(Process, StopsGoesOnAndEnds) {
  auto process = Process::spawn(shell("while :; do :; done"));
  ASSERT_TRUE(process);
  const auto state = [&] {
    std::ifstream file("/proc/" + std::to_string(process->pid()) + "/stat");
    std::string id, name, letter;
    file >> id >> name >> letter;
    return letter;
  };
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(process->stop());
    EXPECT_EQ(state(), "T");
    ASSERT_TRUE(process->resume());
    EXPECT_NE(state(), "T");
  }
  EXPECT_FALSE(process->wait(milliseconds(1)));
  ASSERT_TRUE(process->stop());
  EXPECT_EQ(process->kill().signal, SIGKILL);
  EXPECT_FALSE(process->stop()) << "it has ended";
}

TEST(Process, StoppingOneThatDiedSaysHow) {
  auto process = Process::spawn(shell("exit 4"));
  ASSERT_TRUE(process);
  ASSERT_TRUE(process->wait(kLong));
  auto status = process->stop();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().line(), "process has ended (exit status 4)");
}

TEST(Process, DiesWithItsParentEvenWhenStopped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto child = Process::spawn(shell("while :; do sleep 1; done"));
    if (!child || !child->stop()) ::_exit(1);
    const pid_t pid = child->pid();
    if (::write(ends[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_TRUE(alive(child));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(gone_soon(child));
}

TEST(Process, InheritsTheDescriptorsOfTheCommandOnly) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Command command = shell("echo hello >&7; ls /proc/self/fd | wc -l");
  command.descriptors = {{ends[1], 7}};
  auto result = run_process(command, kLong);
  ASSERT_TRUE(result);
  char buffer[16] = {};
  ASSERT_EQ(::read(ends[0], buffer, sizeof buffer), 6);
  EXPECT_STREQ(buffer, "hello\n");
  EXPECT_EQ(result->out, "5\n") << "0, 1, 2, 7 and ls' own";
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LastLines, AreTheLastOnes) {
  auto folder = ScratchFolder::create("hone-test");
  const fs::path path = folder->path() / "log";
  ASSERT_TRUE(write_file(path, "a\nb\nc\n\n"));
  EXPECT_EQ(last_lines_of_file(path, 2), "b\nc");
  EXPECT_EQ(last_lines_of_file(path, 9), "a\nb\nc");
  EXPECT_EQ(last_lines_of_file(folder->path() / "none", 2), "");
}

TEST(Memory, OfThisProcessIsLessThanTheMachines) {
  auto memory = process_memory(::getpid());
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->resident_bytes, 1 << 20);
  EXPECT_GE(memory->peak_bytes, memory->resident_bytes);
  EXPECT_LT(memory->resident_bytes, machine_memory_bytes());
}

}  // namespace
}  // namespace hone
