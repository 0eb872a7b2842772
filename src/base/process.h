// Process: another program, started in a session of its own, watched, and never left behind.
//
// Own session (setsid): a Ctrl-C at the terminal reaches hone alone, which then ends what it started; and a stopped
// child can't take hone down with it (a process group that is orphaned while a member is stopped gets SIGHUP).
// Dies with the parent (PDEATHSIG = SIGKILL, which works on stopped processes too). The kernel means the *thread* that
// started the child: start processes from a thread that lives as long as they should.
// run_process() is the short form: start, collect the output, wait with a time limit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace hone {

struct Command {
  std::vector<std::string> argv;                          // argv[0]: a path, or a name looked up in PATH
  std::map<std::string, std::optional<std::string>> env;  // over the inherited environment; nullopt removes
  fs::path folder;                                        // working directory; empty = inherited
  fs::path log;           // standard output and error are appended to it; empty = /dev/null (run_process: captured)
  std::vector<int> cpus;  // CPU affinity; empty = inherited
  std::vector<std::pair<int, int>> descriptors;  // {ours, the child's number}: inherited besides 0, 1 and 2
  int oom_score = 0;                             // oom_score_adj: 1000 = the kernel kills this one first, not us
};

// How a process ended.
struct ProcessExit {
  int status = 0;  // exit status; -1 when a signal ended it
  int signal = 0;  // the signal that ended it; 0 = none
  bool ok() const { return status == 0 && signal == 0; }
  // "exit status 3", "SIGSEGV (segmentation fault)".
  std::string text() const;
};

class Process {
 public:
  // A program that can't be started (not found, not executable) is an Error of kind kToolFailed.
  // Output: to `out` and `error` when given (>= 0), else as the command says.
  static Result<Process> spawn(const Command& command, int out = -1, int error = -1);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();  // kill()

  pid_t pid() const { return pid_; }
  // Waits for the end; nullopt when the time is over first. Negative = without limit.
  std::optional<ProcessExit> wait(std::chrono::milliseconds limit);
  // SIGKILLs the process and all of its session's process group, and reaps it. Says how it had ended.
  ProcessExit kill();
  // SIGSTOP / SIGCONT; return when all threads have stopped / the process goes on. An Error when it has ended instead.
  Status stop();
  Status resume();

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  bool reap(int flags);
  Status signal_and_confirm(int signal, int wait_flags);
  pid_t pid_ = -1;
  std::optional<ProcessExit> exit_;
};

struct ProcessOutput {
  ProcessExit exit;
  bool timed_out = false;  // killed because the limit was over
  std::string output;      // standard output and error as they came, the last `output_limit` bytes
  std::string out;         // standard output alone, the last `output_limit` bytes
  double seconds = 0;
};

// Runs a program to its end. With command.log set the output goes there and isn't captured.
// Only a program that can't be started is an Error: a crash or a timeout is a result.
Result<ProcessOutput> run_process(const Command& command, std::chrono::milliseconds limit,
                                  size_t output_limit = 1 << 20);

// "SIGSEGV (segmentation fault)"; "signal 77" when the number has no name.
std::string signal_text(int signal);
// The last `lines` lines of a text, without the newlines at its end.
std::string last_lines(std::string_view text, size_t lines);
// The same of a file, for messages; empty when it can't be read.
std::string last_lines_of_file(const fs::path& path, size_t lines);

}  // namespace hone
