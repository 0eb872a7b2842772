// unfused_batchnorm: BatchNormalization, or a constant scale and shift per channel, after a convolution or product
// whose weights could absorb it. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/walk.h"

namespace hone::diagnose::finding {

namespace {

// The channels a convolution or product makes; 0 when its weights are not constant.
int64_t channels_of(const NodeRef& node) {
  const model::Tensor* weight = constant_input(node, 1);
  if (weight == nullptr || weight->rank() < 2) return 0;
  if (is_any(node, {"Conv", "FusedConv"})) return weight->dims()[0];
  if (is_any(node, {"ConvTranspose"})) return weight->dims()[1] * node.node().attribute_int("group", 1);
  return 0;
}

bool scales_channels(const NodeRef& node, int64_t channels) {
  if (is_any(node, {"BatchNormalization"})) return true;
  if (!is_any(node, {"Mul", "Add", "Sub", "Div"})) return false;
  const int slot = constant_slot(node);
  if (slot < 0 || (slot == 0 && is_any(node, {"Sub", "Div"}))) return false;
  const int64_t count = constant_input(node, static_cast<size_t>(slot))->count();
  return count == 1 || count == channels;
}

}  // namespace

std::optional<Finding> unfused_batchnorm(const Facts& facts) {
  Observation seen;
  std::vector<NodeRef> nodes;
  for (const NodeRef& conv : facts.index.nodes()) {
    const int64_t channels = channels_of(conv);
    if (channels == 0) continue;
    NodeRef at = conv;
    for (;;) {
      const model::NodeId next = at.graph->only_user(at.node().output(0));
      if (next == model::kNoNode || !scales_channels({at.graph, next}, channels)) break;
      at.id = next;
      if (facts.runs_alone(at)) nodes.push_back(at);
    }
  }
  seen.part_ms = seen.saved_ms = facts.own_ms(nodes);
  if (nodes.empty() || facts.share(seen.part_ms) < kWorthMentioning) return std::nullopt;
  seen.evidence = fmt::format(
      "{} nodes after convolutions only scale or shift channels by constants and take {:.3f} ms, "
      "{} of the latency (profile, graph)",
      nodes.size(), seen.part_ms, percent(facts.share(seen.part_ms)));
  seen.direction = "fold them into the convolution's weights and bias";
  seen.nodes = labels_of(nodes);
  return make_finding("unfused_batchnorm", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
