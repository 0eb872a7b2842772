// unfused_qkv: several products with constant weights that read the same input, as the Q, K and V projections do; one
// product with the weights side by side reads the input once and is wider. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "diagnose/walk.h"

namespace hone::diagnose::finding {

std::optional<Finding> unfused_qkv(const Facts& facts) {
  std::map<std::pair<const model::Graph*, model::ValueId>, std::vector<NodeRef>> by_input;
  for (const NodeRef& node : facts.index.nodes()) {
    if (!is_any(node, {"MatMul", "Gemm"}) || !facts.runs_alone(node)) continue;
    const model::Tensor* weight = constant_input(node, 1);
    if (weight != nullptr && weight->rank() == 2) by_input[{node.graph, node.node().input(0)}].push_back(node);
  }
  Observation seen;
  std::vector<NodeRef> shown;
  size_t groups = 0;
  for (const auto& [input, nodes] : by_input) {
    if (nodes.size() < 2) continue;
    ++groups;
    // Merged, the product runs at the rate of its fastest part, or better: flops / best rate.
    double part = 0, flops = 0, best = 0;
    for (const NodeRef& node : nodes)
      for (size_t row : facts.own_rows.at(node)) {
        const OperatorTime& time = facts.diagnosis.operators[row];
        part += time.ms;
        flops += std::max(0.0, time.flops);
        if (time.ms > 0) best = std::max(best, time.flops / time.ms);
      }
    seen.part_ms += part;
    if (best > 0) seen.saved_ms += std::max(0.0, part - flops / best);
    shown.insert(shown.end(), nodes.begin(), nodes.end());
  }
  if (groups == 0 || facts.share(seen.saved_ms) < kWorthMentioning) return std::nullopt;
  seen.evidence = fmt::format(
      "{} group(s) of products read one input each: {} products, {:.3f} ms, {} of the latency (profile, graph); at the "
      "rate of each group's fastest they would take {:.3f} ms",
      groups, shown.size(), seen.part_ms, percent(facts.share(seen.part_ms)), seen.part_ms - seen.saved_ms);
  seen.direction = "merge their weights into one product and split its output";
  seen.nodes = labels_of(shown);
  return make_finding("unfused_qkv", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
