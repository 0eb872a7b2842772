// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

namespace hone {

namespace {

class SteadyClock final : public Clock {
 public:
  int64_t now_ns() override {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }
};

}  // namespace

Clock& steady_clock() {
  static SteadyClock clock;
  return clock;
}

std::string utc_now_iso8601() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace hone
