// SPDX-License-Identifier: Apache-2.0
#include "loop/device_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace hone::loop {

namespace {

// Without O_CREAT first: in a sticky /tmp the kernel may refuse O_CREAT on a file of another user (protected_regular).
int open_shared(const fs::path& file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0 || errno != ENOENT) return descriptor;
  descriptor = ::open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
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
                         "check the permissions of the file"));
  DeviceLock lock(descriptor);
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

}  // namespace hone::loop
