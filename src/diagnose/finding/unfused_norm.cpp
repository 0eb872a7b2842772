// unfused_norm: a normalization written out: reduce, subtract, square, reduce, root, divide, scale, shift.
//
// Found from each Sqrt (or Pow by -0.5, or Reciprocal of one) that a mean or sum of squares leads to and a quotient
// follows. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "diagnose/walk.h"

namespace hone::diagnose::finding {

namespace {

bool is_reduction(const NodeRef& node) { return is_any(node, {"ReduceMean", "ReduceSum", "GlobalAveragePool"}); }

// What exporters put between: no arithmetic.
bool is_link(const NodeRef& node) { return is_any(node, {"Reshape", "Expand", "Unsqueeze", "Squeeze", "Cast"}); }

bool is_square(const NodeRef& node) {
  return is_any(node, {"Pow"}) || (is_any(node, {"Mul"}) && node.node().input(0) == node.node().input(1));
}

void add(std::vector<NodeRef>& nodes, const NodeRef& node) {
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

// Back from the root: through the elementwise nodes to the variance's reduction, and on to the mean's.
bool variance(const NodeRef& node, int steps, int reductions, std::vector<NodeRef>& nodes) {
  bool found = false;
  for (size_t slot = 0; slot < node.node().inputs.size(); ++slot) {
    const NodeRef before = producer(node, slot);
    if (!before) continue;
    const bool reduces = is_reduction(before);
    const int left = reductions - (reduces ? 1 : 0);
    if (left < 0 || steps == 0) continue;
    // A sum of two computed values is a residual connection: the normalization begins after it.
    if (is_any(before, {"Add"}) && constant_slot(before) < 0) continue;
    if (!reduces && !is_link(before) && !is_any(before, {"Sub", "Pow", "Mul", "Add", "Max", "Div", "Clip", "Neg"}))
      continue;
    const bool deeper = variance(before, steps - 1, left, nodes);
    if (!reduces && !deeper) continue;
    add(nodes, before);
    if (const NodeRef square = producer(before, 0); reduces && is_square(square)) add(nodes, square);
    found = true;
  }
  return found;
}

// On from the root: quotient, scale, shift.
void quotient(const NodeRef& node, int steps, std::vector<NodeRef>& nodes) {
  if (steps == 0) return;
  for (const NodeRef& after : users(node)) {
    if (!is_link(after) && !is_any(after, {"Div", "Reciprocal", "Mul", "Add", "Sub"})) continue;
    if (is_any(after, {"Add"}) && constant_slot(after) < 0) continue;
    add(nodes, after);
    quotient(after, steps - 1, nodes);
  }
}

}  // namespace

std::optional<Finding> unfused_norm(const Facts& facts) {
  // Own choices: Reduce <- Pow <- Sub <- Reduce <- and clamps for the variance; Reciprocal, Mul, Mul, Add after it.
  constexpr int kBack = 10, kOn = 4, kReductions = 2;
  std::vector<Site> sites;
  for (const NodeRef& root : facts.index.nodes()) {
    const bool is_root = is_any(root, {"Sqrt"}) || (is_any(root, {"Pow"}) && scalar_input(root, 1) == -0.5);
    if (!is_root || !facts.runs_alone(root)) continue;
    Site site;
    if (!variance(root, kBack, kReductions, site.nodes)) continue;
    const size_t before = site.nodes.size();
    add(site.nodes, root);
    quotient(root, kOn, site.nodes);
    if (site.nodes.size() > before + 1) sites.push_back(std::move(site));
  }
  auto seen = unfused(facts, sites, "normalization(s)");
  if (!seen) return std::nullopt;
  seen->direction = "fuse into LayerNormalization or RMSNormalization";
  return make_finding("unfused_norm", facts, std::move(*seen));
}

}  // namespace hone::diagnose::finding
