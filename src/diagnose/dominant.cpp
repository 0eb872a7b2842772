// SPDX-License-Identifier: Apache-2.0
#include "diagnose/dominant.h"

#include <fmt/format.h>

namespace hone::diagnose {

std::optional<Dominant> dominant_class(const Facts& facts) {
  std::optional<Dominant> best;
  for (OperatorClass klass :
       {OperatorClass::kMatMul, OperatorClass::kConv, OperatorClass::kAttention, OperatorClass::kRecurrent}) {
    Dominant sum;
    sum.klass = klass;
    for (size_t i = 0; i < facts.rows.size(); ++i) {
      const OperatorTime& time = facts.diagnosis.operators[i];
      if (facts.rows[i].klass != klass || time.roof_ms <= 0) continue;
      sum.ms += time.ms;
      sum.roof_ms += time.roof_ms;
      sum.flops += std::max(0.0, time.flops);
      sum.bytes += std::max(0.0, time.bytes);
      sum.rows.push_back(i);
    }
    if (sum.ms > 0 && (!best || sum.ms > best->ms)) best = std::move(sum);
  }
  return best;
}

std::string describe(const Dominant& d, const Facts& facts) {
  return fmt::format(
      "{} kernels take {:.3f} ms, {} of the latency, at {:.0f} GFLOP/s and {:.1f} GB/s; the roofline allows {:.3f} ms "
      "({} of "
      "it is reached; peak {:.0f} GFLOP/s, memory {:.1f} GB/s, both measured on {} threads)",
      to_text(d.klass), d.ms, percent(facts.share(d.ms)), d.flops / d.ms * 1e-6, d.bytes / d.ms * 1e-6, d.roof_ms,
      percent(d.efficiency()), facts.roofline.peak(facts.rows[d.rows.front()].dtype), facts.roofline.memory_gbs(),
      facts.threads());
}

}  // namespace hone::diagnose
