// small_kernels: many kernels so short that starting them and waking threads is a good part of their time.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/facts.h"

namespace hone::diagnose::finding {

std::optional<Finding> small_kernels(const Facts& facts) {
  // Handing work to a spinning thread and waiting for it costs about 2 us, waking a sleeping one 5-50 us; a kernel
  // under 20 us can't hide that. At most half of a kernel is thought to be overhead. 20 % of the latency and 20
  // kernels: less is no lever (all own choices).
  constexpr double kShortUs = 20, kOverheadUs = 2, kShare = 0.20, kCount = 20;
  double count = 0, ms = 0, overhead = 0;
  for (size_t i = 0; i < facts.rows.size(); ++i) {
    const double calls = facts.rows[i].calls;
    if (calls <= 0 || facts.ms(i) * 1000 / calls >= kShortUs) continue;
    count += calls;
    ms += facts.ms(i);
    overhead += std::min(facts.ms(i) / 2, calls * kOverheadUs / 1000);
  }
  if (count < kCount || facts.share(ms) < kShare) return std::nullopt;
  Observation seen;
  seen.part_ms = ms;
  seen.saved_ms = overhead;
  seen.evidence = fmt::format(
      "{:.0f} kernels under {:.0f} us take {:.3f} ms, {} of the latency, {:.1f} us each, on {} "
      "threads (profile)",
      count, kShortUs, ms, percent(facts.share(ms)), ms * 1000 / count, facts.threads());
  seen.direction = "fewer nodes (fuse, fold), fewer threads, spinning on";
  return make_finding("small_kernels", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
