// unfused_attention: MatMul -> scale, mask -> Softmax -> MatMul as separate kernels.
//
// Found from each Softmax: forwards to a product that takes it on the left, backwards to a product of two computed
// operands, through nodes that scale, mask, cast or reshape. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "diagnose/walk.h"

namespace hone::diagnose::finding {

namespace {

constexpr int kSteps = 6;  // own choice: scale, mask, cast and reshapes between product and Softmax

bool is_product(const NodeRef& node) {
  return is_any(node, {"MatMul", "FusedMatMul", "Gemm"}) && constant_input(node, 0) == nullptr &&
         constant_input(node, 1) == nullptr;
}

bool backwards(const NodeRef& node, int steps, std::vector<NodeRef>& way) {
  for (size_t slot = 0; slot < node.node().inputs.size(); ++slot) {
    const NodeRef before = producer(node, slot);
    if (!before) continue;
    if (is_product(before)) {
      way.push_back(before);
      return true;
    }
    if (steps > 1 &&
        is_any(before, {"Add", "Sub", "Mul", "Div", "Where", "Cast", "Reshape", "Max", "Clip", "Softcap"}) &&
        backwards(before, steps - 1, way)) {
      way.push_back(before);
      return true;
    }
  }
  return false;
}

bool forwards(const NodeRef& node, int steps, std::vector<NodeRef>& way) {
  for (const NodeRef& after : users(node)) {
    if (is_product(after) && producer(after, 0) == node) {
      way.push_back(after);
      return true;
    }
    if (steps > 1 && is_any(after, {"Dropout", "Cast", "Where", "Mul", "Reshape", "Identity"}) &&
        forwards(after, steps - 1, way)) {
      way.push_back(after);
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Finding> unfused_attention(const Facts& facts) {
  std::vector<Site> sites;
  double products_least = 0;
  for (const NodeRef& softmax : facts.index.nodes()) {
    if (!is_any(softmax, {"Softmax"}) || !facts.runs_alone(softmax)) continue;
    Site site;
    if (!backwards(softmax, kSteps, site.nodes) || !forwards(softmax, kSteps, site.nodes)) continue;
    for (size_t i = 0, end = site.nodes.size(); i < end; ++i) {
      if (!is_product(site.nodes[i])) continue;
      for (const size_t slot : {0, 1})
        if (const NodeRef before = producer(site.nodes[i], slot); is_any(before, {"Transpose"}))
          site.nodes.push_back(before);
      if (facts.runs_alone(site.nodes[i]))
        for (size_t row : facts.own_rows.at(site.nodes[i])) products_least += facts.diagnosis.operators[row].roof_ms;
    }
    site.nodes.push_back(softmax);
    sites.push_back(std::move(site));
  }
  auto seen = unfused(facts, sites, "attention site(s)");
  if (!seen) return std::nullopt;
  seen->saved_ms = std::max(0.0, seen->part_ms - products_least);  // the products stay, at their least time
  seen->direction = "fuse into Attention or MultiHeadAttention";
  return make_finding("unfused_attention", facts, std::move(*seen));
}

}  // namespace hone::diagnose::finding
