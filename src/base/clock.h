// Clock: nanoseconds that only go forward. A value passed in, so that tests and the fake engine can have their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace hone {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now_ns() = 0;
};

// CLOCK_MONOTONIC.
Clock& steady_clock();

// A clock that moves only when told to.
class ManualClock final : public Clock {
 public:
  int64_t now_ns() override { return now_ns_; }
  void advance_ns(int64_t ns) { now_ns_ += ns; }

 private:
  int64_t now_ns_ = 0;
};

// Returns the current UTC time as "2026-01-31T12:34:56Z".
std::string utc_now_iso8601();

}  // namespace hone
