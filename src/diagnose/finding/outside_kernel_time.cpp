// outside_kernel_time: the part of an inference in which no kernel ran: framework, scheduling, allocation, binding.
// The CPU's form of "host bound". SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "diagnose/facts.h"

namespace hone::diagnose::finding {

std::optional<Finding> outside_kernel_time(const Facts& facts) {
  // 10 % is where the analysis guides for accelerators begin to speak of host-bound steps.
  constexpr double kShare = 0.10;
  const Diagnosis& d = facts.diagnosis;
  if (facts.share(d.outside_ms) < kShare) return std::nullopt;
  double kernels = 0;
  for (const Row& row : facts.rows) kernels += row.calls;
  Observation seen;
  seen.part_ms = seen.saved_ms = d.outside_ms;
  seen.evidence =
      fmt::format("{:.3f} of {:.3f} ms ({}) are outside of the {:.0f} kernels of an inference, {:.1f} us for each ({})",
                  d.outside_ms, d.latency_ms, percent(facts.share(d.outside_ms)), kernels,
                  d.outside_ms * 1000 / std::max(1.0, kernels),
                  facts.conditions.latency_ms > 0 ? "latency measured without the profiler"
                                                  : "profile only; the profiler's own time is in it");
  seen.direction = "fewer nodes (fuse, fold), outputs bound to kept buffers, fewer threads, another engine";
  return make_finding("outside_kernel_time", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
