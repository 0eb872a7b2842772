// Topology: which CPUs share a core, an L3 cache and a NUMA node, as sysfs tells. In a virtual machine it is what the
// hypervisor pretends; that is why places exist (place.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace hone::measure {

struct CpuSeat {
  int cpu = 0, package = 0, core = 0;
  int l3 = 0;    // the lowest CPU that shares its L3
  int node = 0;  // NUMA
};

struct Topology {
  std::vector<CpuSeat> cpus;  // those this process may use
  bool virtual_machine = false;
  int cores() const, l3_domains() const, nodes() const;
  Json to_json() const;
};

// `sysfs` is "/sys/devices/system" but for tests. A file that is missing counts as "all in one".
Topology read_topology(const std::vector<int>& cpus, const fs::path& sysfs = "/sys/devices/system");
// "0-3,8" -> 0 1 2 3 8; what can't be read is left out.
std::vector<int> parse_cpu_list(std::string_view text);

// The CPUs on which everything of `threads` threads runs, measured or not (reference, accuracy check, profile): near
// each other by pin_set() where there are so many cores, else the first ones this process may use; empty, which is all,
// for 0 threads or as many as there are CPUs.
std::vector<int> cpus_for(int threads);
std::vector<int> cpus_for(int threads, const Topology& topology);

// CPUs for workers of `threads` threads on bare metal: one thread per core, inside one L3 domain when it has so many
// cores, else inside one NUMA node, else the first cores. Empty when there are fewer cores than threads.
std::vector<int> pin_set(const Topology& topology, int threads);

}  // namespace hone::measure
