// unfused_activation: an activation written out: GELU (erf or tanh), SiLU, hard swish, hard sigmoid.
//
// Found from the node that makes it non-linear: Erf, Tanh (with a cube before it), Sigmoid or HardSigmoid times its own
// input, Clip at 0..6 with +3 before it. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "diagnose/walk.h"

namespace hone::diagnose::finding {

namespace {

using Nodes = std::vector<NodeRef>;

// Arithmetic that leads to the node, up to x itself: x / 1.414, x + 3, and, when sums and products of computed values
// are allowed, x + 0.044715 x^3.
void before(const NodeRef& node, int steps, bool computed, const NodeRef& x, Nodes& nodes) {
  if (steps == 0) return;
  for (size_t slot = 0; slot < std::min<size_t>(2, node.node().inputs.size()); ++slot) {
    const NodeRef source = producer(node, slot);
    if (source == x || !is_any(source, {"Mul", "Div", "Add", "Sub", "Pow"})) continue;
    if (!computed && constant_slot(source) < 0) continue;
    if (std::find(nodes.begin(), nodes.end(), source) == nodes.end()) nodes.push_back(source);
    before(source, steps - 1, computed, x, nodes);
  }
}

// +1, times x, times 0.5, divided by 6: what follows. Returns the product with x, after which only one constant
// follows.
NodeRef after(const NodeRef& node, int steps, Nodes& nodes) {
  NodeRef gate;
  for (const NodeRef& user : users(node)) {
    if (steps == 0 || !is_any(user, {"Mul", "Div", "Add"})) continue;
    const bool with_constant = constant_slot(user) >= 0;
    if (!with_constant && (gate || !is_any(user, {"Mul"}))) continue;
    if (std::find(nodes.begin(), nodes.end(), user) != nodes.end()) continue;
    nodes.push_back(user);
    if (!with_constant) gate = user;
    const NodeRef further = after(user, with_constant ? steps - 1 : 1, nodes);
    if (!gate) gate = further;
  }
  return gate;
}

// The other operand of the product that ends the activation.
NodeRef gated(const NodeRef& gate, const Nodes& nodes, const NodeRef& seed) {
  for (const size_t slot : {0, 1}) {
    const NodeRef source = gate ? producer(gate, slot) : NodeRef{};
    if (source && source != seed && std::find(nodes.begin(), nodes.end(), source) == nodes.end()) return source;
  }
  return {};
}

// Sigmoid(x) * x: a user that multiplies with the sigmoid's own source.
NodeRef self_gate(const NodeRef& node) {
  const model::ValueId x = node.node().input(0);
  const NodeRef scale = producer(node, 0);
  const bool scaled = is_any(scale, {"Mul"}) && constant_slot(scale) >= 0;  // QuickGELU: Sigmoid(1.702 x) * x
  for (const NodeRef& user : users(node)) {
    if (!is_any(user, {"Mul"})) continue;
    for (model::ValueId input : user.node().inputs)
      if (input == x || (scaled && (input == scale.node().input(0) || input == scale.node().input(1)))) return user;
  }
  return {};
}

bool is_relu6(const NodeRef& node) {
  if (!is_any(node, {"Clip"})) return false;
  const double low =
      node.node().inputs.size() > 1 ? scalar_input(node, 1).value_or(-1) : node.node().attribute_float("min", -1);
  const double high =
      node.node().inputs.size() > 2 ? scalar_input(node, 2).value_or(-1) : node.node().attribute_float("max", -1);
  return low == 0 && std::abs(high - 6) < 1e-6;
}

Nodes site_at(const NodeRef& node) {
  Nodes nodes;
  if (is_any(node, {"Erf", "Tanh"})) {
    const bool tanh = is_any(node, {"Tanh"});
    const NodeRef gate = after(node, 3, nodes);
    if (!gate) return {};
    const size_t behind = nodes.size();
    before(node, tanh ? 6 : 1, tanh, gated(gate, nodes, node), nodes);
    if (tanh && nodes.size() < behind + 3) return {};  // no cube before it
  } else if (is_any(node, {"Sigmoid", "HardSigmoid"})) {
    const NodeRef gate = self_gate(node);
    if (!gate) return {};
    nodes.push_back(gate);
    if (const NodeRef scale = producer(node, 0); is_any(scale, {"Mul"}) && constant_slot(scale) >= 0)
      nodes.push_back(scale);
  } else if (is_relu6(node)) {
    const NodeRef shift = producer(node, 0);
    if (!is_any(shift, {"Add"}) || constant_slot(shift) < 0) return {};
    nodes.push_back(shift);
    after(node, 3, nodes);
  } else {
    return {};
  }
  nodes.push_back(node);
  return nodes;
}

}  // namespace

std::optional<Finding> unfused_activation(const Facts& facts) {
  std::vector<Site> sites;
  for (const NodeRef& node : facts.index.nodes()) {
    if (!facts.runs_alone(node)) continue;
    if (Nodes nodes = site_at(node); !nodes.empty()) sites.push_back({std::move(nodes)});
  }
  auto seen = unfused(facts, sites, "activation(s)");
  if (!seen) return std::nullopt;
  seen->direction = "fuse into Gelu, HardSwish or the like, or use an engine that fuses elementwise chains";
  return make_finding("unfused_activation", facts, std::move(*seen));
}

}  // namespace hone::diagnose::finding
