// weight_bandwidth_bound: reading the weights alone takes most of an inference, as in decoders at batch 1.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/facts.h"

namespace hone::diagnose::finding {

std::optional<Finding> weight_bandwidth_bound(const Facts& facts) {
  constexpr double kShare = 0.5;  // own choice: reading the weights is most of what can't be avoided
  const Diagnosis& d = facts.diagnosis;
  const double reading = facts.roofline.weights_ms(d.weight_bytes);
  if (facts.share(reading) < kShare) return std::nullopt;
  Observation seen;
  seen.part_ms = std::min(reading, d.latency_ms);
  // int8 weights are a quarter; huge pages have measured gains of 1.07 and keep the traffic.
  seen.saved_ms = seen.part_ms * 0.75;
  seen.evidence = fmt::format(
      "each inference reads {:.1f} MB of weights; at the {:.1f} GB/s measured for {} that takes {:.3f} of {:.3f} ms "
      "({})",
      d.weight_bytes * 1e-6, facts.roofline.weights_gbs(), facts.roofline.weights_place(), reading, d.latency_ms,
      percent(facts.share(reading)));
  seen.direction = "huge pages for the weights; smaller weights (int8, 4 bit); larger batches";
  return make_finding("weight_bandwidth_bound", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
