// Lock: one hone per run directory. The file `lock` names the owner: pid, boot id, start time of the process, host.
//
// The kernel's flock decides, so a killed owner frees the lock at once and two starters can't both break a stale one;
// the text in the file says who it is, and catches an owner on another machine, where flock may not be seen (NFS).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/result.h"

namespace hone::run {

struct LockOwner {
  int pid = 0;
  std::string boot;         // /proc/sys/kernel/random/boot_id
  long long start = 0;      // clock ticks since boot, /proc/PID/stat field 22: pids are reused, (pid, start) is not
  std::string host, since;  // for people
};

class Lock {
 public:
  // kUsage error "another hone works here" when the owner lives. A stale lock is broken; broken() tells whose.
  static Result<Lock> take(const fs::path& folder);
  Lock(Lock&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), broken_(other.broken_) {}
  Lock& operator=(Lock&&) = delete;
  ~Lock();
  // The owner whose stale lock was broken.
  const std::optional<LockOwner>& broken() const { return broken_; }

 private:
  Lock(fs::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  fs::path path_;
  int descriptor_ = -1;
  std::optional<LockOwner> broken_;
};

LockOwner this_process();
// True when the owner ran under another kernel on another host: a shared file system, where our flock proves nothing.
// (Another boot of this host is a crash; the same boot id is the same kernel, and there flock is the truth.)
bool out_of_sight(const LockOwner& owner);
std::string to_text(const LockOwner& owner);
std::optional<LockOwner> parse_owner(std::string_view text);

}  // namespace hone::run
