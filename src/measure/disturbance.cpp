// How much of a block was disturbed by others. PSI says it best; containers often hide it, then the run queue wait of
// our own threads does, then /proc/stat and involuntary switches (measuring.md section 5).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "measure/coordinator.h"

namespace hone::measure {

namespace {

// The shortest slice Linux gives a task that took our CPU (sched_min_granularity, 0.75..3 ms): what one involuntary
// switch costs at least.
constexpr double kSwitchSeconds = .00075;
// Below this share of foreign CPU the pressure is our own: more threads than CPUs wait for each other.
constexpr double kOwnPressureForeignShare = .10;

}  // namespace

Disturbance disturbance(const worker::BlockResult& block) {
  const double timed_s = std::max(block.timed_s, 1e-9);
  const double foreign = std::max(0., block.busy_cpu_s - block.own_cpu_s) / timed_s;
  Disturbance out;
  if (block.pressure >= 0) {
    out.share = block.pressure;
  } else if (block.run_queue_wait_s >= 0) {
    out.source = Disturbance::Source::kRunQueue;
    out.share = std::min(1., block.run_queue_wait_s / timed_s);
  } else {
    out.source = Disturbance::Source::kProcStat;
    const double switches = static_cast<double>(block.involuntary_switches) * kSwitchSeconds / timed_s;
    out.share = std::min(1., std::max(foreign, switches));
    return out;
  }
  if (foreign < kOwnPressureForeignShare) out.share = std::min(out.share, foreign);
  return out;
}

}  // namespace hone::measure
