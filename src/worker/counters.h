// Counters: what the kernel says about disturbance and about our own use of the CPUs, read before and after the timed
// part of a block (measuring.md section 4). What a kernel or container does not have is -1, never 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "worker/worker.h"

namespace hone::worker {

struct Counters {
  double time_s = 0;
  double pressure_s = -1;        // PSI "some" total of /proc/pressure/cpu
  double run_queue_wait_s = -1;  // of all threads of this process: /proc/self/task/*/schedstat
  double own_cpu_s = 0;
  double busy_cpu_s = 0, steal_s = 0;  // /proc/stat, over `cpus`
  int64_t involuntary_switches = 0, minor_faults = 0;
};

// `cpus`: whose busy and steal time counts; empty = all.
Counters read_counters(const std::vector<int>& cpus);
// Writes the differences into the block.
void add_difference(const Counters& before, const Counters& after, BlockResult* block);

// One "cpuN ..." line of /proc/stat, or the "cpu  ..." line when cpu is -1, in seconds. False: no such line.
bool parse_cpu_times(std::string_view stat, int cpu, double ticks_per_second, double* busy, double* steal);
// "some ... total=N" of a PSI file, in seconds; -1 when it isn't there.
double parse_pressure(std::string_view text);

}  // namespace hone::worker
