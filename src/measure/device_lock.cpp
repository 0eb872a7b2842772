// SPDX-License-Identifier: Apache-2.0
#include "measure/device_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace hone::measure {

namespace {

// The folder is open to all users: what somebody put there under this name is neither followed (a link) nor waited for
// (a FIFO). Without O_CREAT first: in a sticky /tmp the kernel may refuse O_CREAT on a file of another user
// (protected_regular).
int open_shared(const fs::path& file) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int descriptor = ::open(file.c_str(), kFlags);
  if (descriptor >= 0 || errno != ENOENT) return descriptor;
  descriptor = ::open(file.c_str(), kFlags | O_CREAT, 0644);
  if (descriptor >= 0) ::fchmod(descriptor, 0644);  // whatever the umask: other users have to open it
  return descriptor;
}

}  // namespace

fs::path DeviceLock::of_cpu() { return "/tmp/hone-cpu.lock"; }

Result<DeviceLock> DeviceLock::take(const fs::path& file, const std::function<void()>& on_wait,
                                    const std::function<bool()>& cancelled) {
  const int descriptor = open_shared(file);
  if (descriptor < 0)
    return fail(io_error(fmt::format("can't open the lock of the device ({})", std::strerror(errno)), file.string(),
                         "check what it is and its permissions, or remove it"));
  DeviceLock lock(descriptor);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return fail(io_error("the lock of the device is no file", file.string(), "remove it"));
  bool waited = false;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK)
      return fail(io_error(fmt::format("can't lock the device ({})", std::strerror(errno)), file.string()));
    if (!waited) on_wait();
    waited = true;
    if (cancelled()) return fail(interrupted("stopped while waiting for another hone"));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return lock;
}

DeviceLock::~DeviceLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace hone::measure
