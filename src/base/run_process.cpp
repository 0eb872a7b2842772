// run_process() and the words of process.h: a program run to its end, with its output.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/process.h"

namespace hone {

namespace {

using std::chrono::milliseconds;

void append_bounded(std::string* text, std::string_view more, size_t limit) {
  *text += more;
  if (text->size() > 2 * limit) text->erase(0, text->size() - limit);
}

void trim_to(std::string* text, size_t limit) {
  if (text->size() > limit) text->erase(0, text->size() - limit);
}

// One of the child's output streams.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (read_ >= 0) ::close(read_);
    close_write();
  }
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read_ = ends[0];
    write_ = ends[1];
    return ::fcntl(read_, F_SETFL, O_NONBLOCK) == 0;
  }
  void close_write() {
    if (write_ >= 0) ::close(std::exchange(write_, -1));
  }
  int read_end() const { return read_; }
  int write_end() const { return write_; }
  bool ended() const { return ended_; }
  // Takes what is there now.
  void take(std::string* into, std::string* also, size_t limit) {
    char buffer[65536];
    while (!ended_) {
      const ssize_t n = ::read(read_, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return;
      if (n == 0) ended_ = true;
      const std::string_view text(buffer, static_cast<size_t>(n));
      append_bounded(into, text, limit);
      if (also != nullptr) append_bounded(also, text, limit);
    }
  }

 private:
  int read_ = -1, write_ = -1;
  bool ended_ = false;
};

struct Capture {
  Stream out, error;
  void take(ProcessOutput* result, size_t limit) {
    out.take(&result->output, &result->out, limit);
    error.take(&result->output, nullptr, limit);
  }
  void wait_for_output(int ms) {
    struct pollfd watched[2] = {{out.ended() ? -1 : out.read_end(), POLLIN, 0},
                                {error.ended() ? -1 : error.read_end(), POLLIN, 0}};
    ::poll(watched, 2, ms);
  }
};

}  // namespace

Result<ProcessOutput> run_process(const Command& command, milliseconds limit, size_t output_limit) {
  const int64_t start_ns = steady_clock().now_ns();
  const auto elapsed_ms = [&] { return (steady_clock().now_ns() - start_ns) / 1'000'000; };
  Capture capture;
  const bool captures = command.log.empty();
  if (captures && (!capture.out.open() || !capture.error.open()))
    return fail(io_error(fmt::format("no pipe ({})", std::strerror(errno))));
  Process process =
      HONE_TRY(Process::spawn(command, captures ? capture.out.write_end() : -1, capture.error.write_end()));
  capture.out.close_write();
  capture.error.close_write();
  ProcessOutput result;
  std::optional<ProcessExit> ended;
  while (!ended && elapsed_ms() < limit.count()) {
    if (captures) capture.take(&result, output_limit);
    const int64_t left = limit.count() - elapsed_ms();
    if (captures && !(capture.out.ended() && capture.error.ended()))
      capture.wait_for_output(static_cast<int>(std::clamp<int64_t>(left, 0, 20)));
    ended = process.wait(milliseconds(captures && !capture.out.ended() ? 0 : std::max<int64_t>(left, 0)));
  }
  result.timed_out = !ended;
  result.exit = ended ? *ended : process.kill();
  if (captures) capture.take(&result, output_limit);
  trim_to(&result.output, output_limit);
  trim_to(&result.out, output_limit);
  result.seconds = static_cast<double>(steady_clock().now_ns() - start_ns) * 1e-9;
  return result;
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  if (name == nullptr) return fmt::format("signal {}", signal);
  std::string description = ::sigdescr_np(signal);
  if (!description.empty()) description[0] = static_cast<char>(std::tolower(description[0]));
  return fmt::format("SIG{} ({})", name, description);
}

std::string ProcessExit::text() const {
  return signal != 0 ? signal_text(signal) : fmt::format("exit status {}", status);
}

std::string last_lines(std::string_view text, size_t lines) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  size_t begin = text.size();
  for (size_t found = 0; begin > 0; --begin)
    if (text[begin - 1] == '\n' && ++found == lines) break;
  return std::string(text.substr(begin));
}

std::string last_lines_of_file(const fs::path& path, size_t lines) {
  auto text = read_file(path);
  return text ? last_lines(*text, lines) : std::string();
}

}  // namespace hone
