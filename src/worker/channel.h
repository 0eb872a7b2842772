// Channel: JSON documents, one a line, over one end of a socket pair. Both ends are ours, so a line that isn't JSON is
// a bug or a dead worker, not user input.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/result.h"

namespace hone::worker {

class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  // An Error of kind kIo when the other end is gone.
  Status send(const Json& message);
  enum class Wait { kReady, kTimeout, kClosed };
  // Waits for a whole line, or for the end of the other side.
  Wait wait(std::chrono::milliseconds limit);
  // The line that wait() found.
  Result<Json> take();
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::string buffer_;
  size_t scanned_ = 0;  // no newline before this
  bool closed_ = false;
};

// A connected pair, close-on-exec.
Result<std::pair<Channel, Channel>> make_channel_pair();

}  // namespace hone::worker
