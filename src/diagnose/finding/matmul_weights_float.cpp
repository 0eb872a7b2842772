// matmul_weights_float: matrix products with float32 weights that int8 (or bfloat16) kernels would do in less time.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/facts.h"

namespace hone::diagnose::finding {

std::optional<Finding> matmul_weights_float(const Facts& facts) {
  constexpr double kShare = 0.10;  // own choice: quantization costs accuracy, so it must be worth it
  Observation seen;
  std::vector<NodeRef> nodes;
  double weight_bytes = 0;
  for (size_t i = 0; i < facts.rows.size(); ++i) {
    const Row& row = facts.rows[i];
    if (row.klass != OperatorClass::kMatMul || row.dtype != model::DType::kFloat || row.cost.weight_bytes <= 0)
      continue;
    // In int8 the weights are a quarter; activations are quantized on the way and stay float between nodes.
    Cost int8 = row.cost;
    int8.weight_bytes /= 4;
    int8.bytes -= row.cost.weight_bytes - int8.weight_bytes;
    const double least = facts.roofline.least_ms(int8, model::DType::kInt8) * row.calls;
    seen.part_ms += facts.ms(i);
    seen.saved_ms += std::max(0.0, facts.ms(i) - least);
    weight_bytes += row.cost.weight_bytes * row.calls;
    if (row.mapped.root) nodes.push_back(row.mapped.root);
  }
  if (facts.share(seen.part_ms) < kShare) return std::nullopt;
  seen.evidence = fmt::format(
      "{} matrix products read {:.1f} MB of float32 weights and take {:.3f} ms, {} of the latency (profile); this "
      "machine's peaks: float32 {:.0f} GFLOP/s, bfloat16 {:.0f}, int8 {:.0f} GOP/s",
      nodes.size(), weight_bytes * 1e-6, seen.part_ms, percent(facts.share(seen.part_ms)), facts.machine.gflops_f32,
      facts.machine.gflops_bf16, facts.machine.gops_int8);
  seen.direction = "int8 weights (dynamic or static quantization), or an engine that computes in bfloat16";
  seen.nodes = labels_of(nodes);
  return make_finding("matmul_weights_float", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
