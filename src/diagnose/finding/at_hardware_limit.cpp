// at_hardware_limit: the dominant class runs near the measured peak: only less work or smaller types can help. This is
// one of the loop's reasons to stop. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "diagnose/dominant.h"

namespace hone::diagnose::finding {

std::optional<Finding> at_hardware_limit(const Facts& facts) {
  // 80 % of a measured peak is what good kernels reach (own choice); 60 % of the latency leaves at most 1.67 x
  // elsewhere.
  constexpr double kShare = 0.60, kEfficiency = 0.8;
  const auto dominant = dominant_class(facts);
  if (!dominant || facts.share(dominant->ms) < kShare || dominant->efficiency() < kEfficiency) return std::nullopt;
  Observation seen;
  seen.part_ms = dominant->ms;
  seen.saved_ms = std::max(0.0, dominant->ms - dominant->roof_ms);
  seen.evidence = describe(*dominant, facts);
  seen.direction = "smaller types (bfloat16, int8) or a smaller model; faster kernels are not to be had";
  return make_finding("at_hardware_limit", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
