// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace hone {

std::optional<ProcessMemory> process_memory(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  ProcessMemory memory;
  bool found = false;
  for (std::string line; std::getline(file, line);) {
    const auto kib = [&](std::string_view name, int64_t* into) {
      if (line.compare(0, name.size(), name) != 0) return;
      *into = std::strtoll(line.c_str() + name.size(), nullptr, 10) * 1024;
      found = true;
    };
    kib("VmRSS:", &memory.resident_bytes);
    kib("VmHWM:", &memory.peak_bytes);
  }
  if (!found) return std::nullopt;  // gone, or a zombie
  return memory;
}

int64_t machine_memory_bytes() {
  int64_t bytes = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
  // The root of the cgroup namespace: what a container sees as its own. Version 2, then 1.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    int64_t limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);  // "max" is not a number
  }
  return bytes;
}

}  // namespace hone
