// DeviceLock: two hones never measure on the same device at once (artifacts.md section 5), Runs or single measurements.
// The second waits, before its budget begins to count. The kernel's flock: a killed hone frees it at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/result.h"

namespace hone::measure {

class DeviceLock {
 public:
  // The lock file of this machine's CPUs, one for all users.
  static fs::path of_cpu();
  // Waits; `on_wait` is called once when it has to. kInterrupted when `cancelled` says so.
  static Result<DeviceLock> take(const fs::path& file, const std::function<void()>& on_wait,
                                 const std::function<bool()>& cancelled);
  DeviceLock(DeviceLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  DeviceLock& operator=(DeviceLock&&) = delete;
  ~DeviceLock();

 private:
  explicit DeviceLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace hone::measure
