// conv_float: convolutions in float32 on a machine that computes half precision or int8 faster.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/facts.h"

namespace hone::diagnose::finding {

std::optional<Finding> conv_float(const Facts& facts) {
  constexpr double kShare = 0.10;  // own choice, as for matrix products
  constexpr double kFaster = 1.3;  // own choice: a smaller ratio of peaks is eaten by conversions
  const double other = std::max(facts.machine.gflops_bf16, facts.machine.gops_int8);
  if (other < kFaster * facts.machine.gflops_f32) return std::nullopt;
  const bool bf16 = facts.machine.gflops_bf16 >= kFaster * facts.machine.gflops_f32;
  const model::DType type = bf16 ? model::DType::kBfloat16 : model::DType::kInt8;
  Observation seen;
  std::vector<NodeRef> nodes;
  for (size_t i = 0; i < facts.rows.size(); ++i) {
    const Row& row = facts.rows[i];
    if (row.klass != OperatorClass::kConv || row.dtype != model::DType::kFloat) continue;
    Cost smaller = row.cost;
    if (smaller.bytes > 0) smaller.bytes /= bf16 ? 2 : 4;
    smaller.weight_bytes /= bf16 ? 2 : 4;
    const double least = facts.roofline.least_ms(smaller, type) * row.calls;
    seen.part_ms += facts.ms(i);
    seen.saved_ms += std::max(0.0, facts.ms(i) - least);
    if (row.mapped.root) nodes.push_back(row.mapped.root);
  }
  if (facts.share(seen.part_ms) < kShare) return std::nullopt;
  seen.evidence = fmt::format(
      "convolutions in float32 take {:.3f} ms, {} of the latency (profile); this machine's peaks: float32 {:.0f} "
      "GFLOP/s, bfloat16 {:.0f}, int8 {:.0f} GOP/s",
      seen.part_ms, percent(facts.share(seen.part_ms)), facts.machine.gflops_f32, facts.machine.gflops_bf16,
      facts.machine.gops_int8);
  seen.direction = bf16 ? "an engine that computes convolutions in bfloat16, or int8" : "int8 quantization";
  seen.nodes = labels_of(nodes);
  return make_finding("conv_float", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
