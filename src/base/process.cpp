// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "base/clock.h"

extern char** environ;

namespace hone {

namespace {

using std::chrono::milliseconds;

// Closes a descriptor when it goes.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  int get() const { return value_; }
  void reset(int value = -1) {
    if (value_ >= 0) ::close(value_);
    value_ = value;
  }

 private:
  int value_;
};

// Everything the child needs, made before fork(): between fork() and exec() nothing may allocate.
struct Prepared {
  std::vector<char*> argv, envp;
  std::vector<std::string> environment;
  std::string program, folder, oom_score;
  cpu_set_t cpus;
  bool pin = false;
  int out = -1, error = -1, null = -1;
  int report = -1;  // the write end of the pipe that tells why exec failed
  pid_t parent = 0;
  std::vector<std::pair<int, int>> descriptors;
};

std::vector<std::string> make_environment(const Command& command) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (command.env.count(std::string(text.substr(0, text.find('='))))) continue;
    out.emplace_back(text);
  }
  for (const auto& [name, value] : command.env)
    if (value) out.push_back(name + "=" + *value);
  return out;
}

// Looks a program up in PATH as execvp does. What is not found is left as it is: exec says why.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return name;
}

struct Failure {
  int step = 0, code = 0;
};
enum Step { kExec = 1, kFolder, kAffinity, kParentGone, kDescriptor };

[[noreturn]] void give_up(const Prepared& p, Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const ssize_t n = ::write(p.report, &failure, sizeof failure);
  ::_exit(127);
}

// Only async-signal-safe calls from here on.
void place_descriptors(const Prepared& p) {
  // What others opened without O_CLOEXEC isn't passed on either (a kernel before 5.11 leaves those open).
  ::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
  if (::dup2(p.null, 0) < 0 || ::dup2(p.out, 1) < 0 || ::dup2(p.error, 2) < 0) give_up(p, kDescriptor);
  for (const auto& [ours, theirs] : p.descriptors) {
    if (ours == theirs) {
      if (::fcntl(ours, F_SETFD, 0) != 0) give_up(p, kDescriptor);
    } else if (::dup2(ours, theirs) < 0) {
      give_up(p, kDescriptor);
    }
  }
}

void reset_signals() {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    if (signal != SIGKILL && signal != SIGSTOP) ::sigaction(signal, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void set_oom_score(const Prepared& p) {
  if (p.oom_score.empty()) return;
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;  // a hint to the kernel; nothing is lost without it
  [[maybe_unused]] const ssize_t n = ::write(file, p.oom_score.data(), p.oom_score.size());
  ::close(file);
}

[[noreturn]] void become(Prepared& p) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != p.parent) give_up(p, kParentGone);  // it died before prctl
  reset_signals();
  const struct rlimit no_core {};
  ::setrlimit(RLIMIT_CORE, &no_core);
  set_oom_score(p);
  place_descriptors(p);
  if (p.pin && ::sched_setaffinity(0, sizeof p.cpus, &p.cpus) != 0) give_up(p, kAffinity);
  if (!p.folder.empty() && ::chdir(p.folder.c_str()) != 0) give_up(p, kFolder);
  ::execve(p.program.c_str(), p.argv.data(), p.envp.data());
  give_up(p, kExec);
}

Error failure_error(const Failure& failure, const Command& command) {
  const std::string why = std::strerror(failure.code);
  switch (failure.step) {
    case kFolder:
      return tool_failed("can't enter the working directory (" + why + ")", command.folder.string());
    case kAffinity:
      return tool_failed("can't use these CPUs (" + why + ")", command.argv[0], "give CPUs this process may use");
    case kParentGone:
      return interrupted("the starting process ended", command.argv[0]);
    default:
      return tool_failed("can't start program (" + why + ")", command.argv[0]);
  }
}

// Where standard output and error go: `capture` wins over the log, the log over /dev/null.
Status open_outputs(const Command& command, int capture_out, int capture_error, Descriptor* log, Prepared* p) {
  if (capture_out >= 0) {
    p->out = capture_out;
    p->error = capture_error;
    return {};
  }
  const fs::path path = command.log.empty() ? fs::path("/dev/null") : command.log;
  log->reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log->get() < 0) return fail(io_error(fmt::format("can't write log ({})", std::strerror(errno)), path.string()));
  p->out = p->error = log->get();
  return {};
}

void prepare_texts(const Command& command, Prepared* p) {
  p->program = find_program(command.argv[0]);
  p->folder = command.folder.string();
  p->environment = make_environment(command);
  for (const auto& argument : command.argv) p->argv.push_back(const_cast<char*>(argument.c_str()));
  for (const auto& entry : p->environment) p->envp.push_back(const_cast<char*>(entry.c_str()));
  p->argv.push_back(nullptr);
  p->envp.push_back(nullptr);
  if (command.oom_score != 0) p->oom_score = std::to_string(command.oom_score);
  CPU_ZERO(&p->cpus);
  for (const int cpu : command.cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &p->cpus);
  p->pin = !command.cpus.empty();
  p->parent = ::getpid();
  p->descriptors = command.descriptors;
}

Result<pid_t> start(const Command& command, int capture_out, int capture_error) {
  HONE_CHECK(!command.argv.empty());
  Prepared p;
  prepare_texts(command, &p);
  Descriptor log, null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  HONE_TRY(open_outputs(command, capture_out, capture_error, &log, &p));
  p.null = null.get();
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return fail(io_error(fmt::format("no pipe ({})", std::strerror(errno))));
  Descriptor read_end(pipe_ends[0]);
  // High up, so that no descriptor the child asks for lands on it.
  Descriptor write_end(::fcntl(pipe_ends[1], F_DUPFD_CLOEXEC, 100));
  ::close(pipe_ends[1]);
  p.report = write_end.get();
  const pid_t pid = ::fork();
  if (pid == 0) become(p);
  if (pid < 0) return fail(tool_failed(fmt::format("can't start a process ({})", std::strerror(errno)), p.program));
  write_end.reset();
  Failure failure;
  ssize_t n = 0;
  do {
    n = ::read(read_end.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof failure)) {
    ::waitpid(pid, nullptr, 0);
    return fail(failure_error(failure, command));
  }
  return pid;
}

ProcessExit exit_from(int status) {
  if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

Result<Process> Process::spawn(const Command& command, int out, int error) {
  return Process(HONE_TRY(start(command, out, error)));
}

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), exit_(other.exit_) {}

Process::~Process() {
  if (pid_ > 0) kill();
}

bool Process::reap(int flags) {
  if (exit_) return true;
  siginfo_t info{};
  int code = 0;
  do {
    code = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | flags);
  } while (code < 0 && errno == EINTR);
  if (code == 0 && info.si_pid == 0) return false;
  // It has ended. What it left running in its group ends too, while its id can't yet be another's.
  if (code == 0) ::kill(-pid_, SIGKILL);
  int status = 0;
  const bool reaped = code == 0 && ::waitpid(pid_, &status, 0) == pid_;
  exit_ = reaped ? exit_from(status) : ProcessExit{-1, 0};  // else somebody took it: how it ended is lost
  return true;
}

std::optional<ProcessExit> Process::wait(milliseconds limit) {
  if (limit.count() < 0) {
    reap(0);
    return exit_;
  }
  const int64_t end_ns = steady_clock().now_ns() + limit.count() * 1'000'000;
  Descriptor handle(exit_ ? -1 : open_pidfd(pid_));
  while (!reap(WNOHANG)) {
    const int64_t left_ms = (end_ns - steady_clock().now_ns() + 999'999) / 1'000'000;
    if (left_ms <= 0) return std::nullopt;
    struct pollfd watched {
      handle.get(), POLLIN, 0
    };
    // Without pidfd (old kernel, strict sandbox) looks every 5 ms.
    if (handle.get() >= 0)
      ::poll(&watched, 1, static_cast<int>(std::min<int64_t>(left_ms, 1'000'000)));
    else
      std::this_thread::sleep_for(milliseconds(std::min<int64_t>(left_ms, 5)));
  }
  return exit_;
}

ProcessExit Process::kill() {
  HONE_CHECK(pid_ > 0);
  if (!exit_) {
    ::kill(-pid_, SIGKILL);  // its group: setsid made the group's id its pid
    ::kill(pid_, SIGKILL);
    reap(0);
  }
  return *exit_;
}

Status Process::signal_and_confirm(int signal, int wait_flags) {
  if (reap(WNOHANG)) return fail(tool_failed("process has ended (" + exit_->text() + ")"));
  if (::kill(pid_, signal) != 0) return fail(tool_failed(fmt::format("no signal sent ({})", std::strerror(errno))));
  siginfo_t info{};
  int code = 0;
  do {
    code = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | wait_flags);
  } while (code < 0 && errno == EINTR);
  if (code == 0 && (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED)) {
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, wait_flags | WNOHANG);  // takes the report that was only looked at
    return {};
  }
  reap(0);
  return fail(tool_failed("process has ended (" + exit_->text() + ")"));
}

Status Process::stop() { return signal_and_confirm(SIGSTOP, WSTOPPED); }
Status Process::resume() { return signal_and_confirm(SIGCONT, WCONTINUED); }

}  // namespace hone
