// Memory as the kernel counts it: what a process uses, and what there is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace hone {

struct ProcessMemory {
  int64_t resident_bytes = 0, peak_bytes = 0;  // VmRSS, VmHWM
};
// nullopt when the process is gone.
std::optional<ProcessMemory> process_memory(pid_t pid);
// The machine's memory, or the limit of the memory cgroup we're in when that is smaller.
int64_t machine_memory_bytes();

}  // namespace hone
