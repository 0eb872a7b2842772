// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace hone {
namespace {

TEST(MachineId, TellsWhatProcTells) {
  const MachineId machine = machine_id();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 1 << 20);
  EXPECT_GE(machine.numa_nodes, 1);
  EXPECT_FALSE(machine.boot_id.empty());
}

TEST(MachineId, CountsOnlyTheCpusThisProcessMayUse) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(machine_id().cores, 1);
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace hone
