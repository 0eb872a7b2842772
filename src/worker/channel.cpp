// SPDX-License-Identifier: Apache-2.0
#include "worker/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"

namespace hone::worker {

Channel::~Channel() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status Channel::send(const Json& message) {
  const std::string line = dump_json_line(message) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t n = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(io_error(fmt::format("the other process is gone ({})", std::strerror(errno))));
    rest.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Channel::Wait Channel::wait(std::chrono::milliseconds limit) {
  const int64_t end_ns = steady_clock().now_ns() + limit.count() * 1'000'000;
  while (true) {
    if (buffer_.find('\n', scanned_) != std::string::npos) return Wait::kReady;
    scanned_ = buffer_.size();
    if (closed_) return Wait::kClosed;
    const int64_t left_ms = std::max<int64_t>(0, (end_ns - steady_clock().now_ns() + 999'999) / 1'000'000);
    struct pollfd watched {
      descriptor_, POLLIN, 0
    };
    const int ready = ::poll(&watched, 1, static_cast<int>(std::min<int64_t>(left_ms, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Wait::kTimeout;
    char chunk[65536];
    const ssize_t n = ::recv(descriptor_, chunk, sizeof chunk, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) closed_ = true;
    if (n > 0) buffer_.append(chunk, static_cast<size_t>(n));
  }
}

Result<Json> Channel::take() {
  const size_t end = buffer_.find('\n');
  HONE_CHECK(end != std::string::npos);
  auto message = parse_json(std::string_view(buffer_).substr(0, end), "message between hone and its worker");
  buffer_.erase(0, end + 1);
  scanned_ = 0;
  return message;
}

Result<std::pair<Channel, Channel>> make_channel_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(io_error(fmt::format("no socket pair ({})", std::strerror(errno))));
  return std::pair<Channel, Channel>(Channel(ends[0]), Channel(ends[1]));
}

}  // namespace hone::worker
