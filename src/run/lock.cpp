// SPDX-License-Identifier: Apache-2.0
#include "run/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/machine.h"
#include "run/layout.h"

namespace hone::run {

namespace {

// Files of /proc have no size, so they are read as streams.
std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string boot_id() { return first_line_of("/proc/sys/kernel/random/boot_id"); }

// Field 22 of /proc/PID/stat. The second field is the program's name in brackets and may hold spaces and brackets.
long long start_of(int pid) {
  const std::string stat = read_all(fmt::format("/proc/{}/stat", pid));
  const size_t bracket = stat.rfind(')');
  if (bracket == std::string::npos) return 0;
  std::istringstream fields(stat.substr(bracket + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return std::strtoll(field.c_str(), nullptr, 10);
}

// A child that the owner had just forked holds its lock too, until it has started its own program or has died with the
// owner: after a kill -9 that takes a moment. No longer than this is waited for it.
constexpr auto kPatience = std::chrono::seconds(5);

// True when the owner was a process of this machine's present boot and is gone.
bool is_gone(const LockOwner& owner) { return owner.boot == boot_id() && start_of(owner.pid) != owner.start; }

Error taken(const fs::path& folder, const std::optional<LockOwner>& owner) {
  return usage_error(
      "another hone works in this run directory" + (owner ? " (" + to_text(*owner) + ")" : std::string()),
      folder.string(), "wait for it, stop it, or use another folder with --out");
}

Error taken_elsewhere(const fs::path& folder, const LockOwner& owner) {
  return usage_error("a hone on another machine may work in this run directory (" + to_text(owner) + ")",
                     folder.string(), "when that hone is gone, remove the file `lock` there");
}

Status write_owner(int descriptor, const fs::path& path) {
  const std::string text = to_text(this_process()) + "\n";
  if (::ftruncate(descriptor, 0) != 0 ||
      ::pwrite(descriptor, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return fail(io_error(fmt::format("can't write the lock ({})", std::strerror(errno)), path.string(),
                         errno == ENOSPC ? "free some space and try again" : ""));
  return {};
}

}  // namespace

LockOwner this_process() { return {::getpid(), boot_id(), start_of(::getpid()), host_name(), utc_now_iso8601()}; }

bool out_of_sight(const LockOwner& owner) { return owner.boot != boot_id() && owner.host != host_name(); }

std::string to_text(const LockOwner& owner) {
  return fmt::format("pid {} boot {} start {} host {} since {}", owner.pid, owner.boot, owner.start, owner.host,
                     owner.since);
}

std::optional<LockOwner> parse_owner(std::string_view text) {
  std::istringstream in{std::string(text)};
  LockOwner owner;
  std::string pid, boot, start, host, since;
  in >> pid >> owner.pid >> boot >> owner.boot >> start >> owner.start >> host >> owner.host >> since >> owner.since;
  if (!in || pid != "pid" || boot != "boot" || start != "start" || host != "host") return std::nullopt;
  return owner;
}

Result<Lock> Lock::take(const fs::path& folder) {
  const fs::path path = folder / kLock;
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0)
      return fail(io_error(fmt::format("can't open the lock ({})", std::strerror(errno)), path.string(),
                           "check the permissions of the folder"));
    Lock lock(path, descriptor);
    const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const int code = errno;
    const std::optional<LockOwner> owner = parse_owner(read_all(path.string()));
    if (!locked) {
      lock.path_.clear();  // not ours to remove
      if (code == EWOULDBLOCK && owner && is_gone(*owner) && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      if (code == EWOULDBLOCK) return fail(taken(folder, owner));
      return fail(io_error(fmt::format("can't lock ({})", std::strerror(code)), path.string()));
    }
    struct stat ours {
    }, there{};
    // The previous owner removes the file while it still holds the lock: what we locked may be gone by now.
    if (::fstat(descriptor, &ours) != 0 || ::stat(path.c_str(), &there) != 0 || ours.st_ino != there.st_ino) {
      lock.path_.clear();
      continue;
    }
    if (owner && out_of_sight(*owner)) {
      lock.path_.clear();
      return fail(taken_elsewhere(folder, *owner));
    }
    lock.broken_ = owner;
    HONE_TRY(write_owner(descriptor, path));
    return lock;
  }
}

Lock::~Lock() {
  if (descriptor_ < 0) return;
  if (!path_.empty()) ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace hone::run
