// What machine this is, from /proc and sysfs: goes into every result, since CPU models differ from day to day.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

struct MachineId {
  std::string cpu;                    // /proc/cpuinfo "model name"; "unknown" where there is none
  int cores = 0;                      // CPUs this process may use (affinity)
  std::vector<std::string> features;  // of /proc/cpuinfo flags, those that matter to kernels: "avx2", "amx_int8", ...
  int64_t memory_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  int numa_nodes = 1;
  std::string kernel;    // uname -r
  std::string governor;  // CPU frequency governor, "unknown" in most virtual machines
  std::string boot_id;   // changes at every boot
};

MachineId machine_id();
std::string host_name();  // "unknown" when the system does not say

}  // namespace hone
