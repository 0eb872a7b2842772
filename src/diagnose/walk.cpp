// SPDX-License-Identifier: Apache-2.0
#include "diagnose/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hone::diagnose {

NodeRef producer(const NodeRef& node, size_t slot) {
  const model::ValueId value = node.node().input(slot);
  if (value == model::kNoValue) return {};
  const model::NodeId id = node.graph->value(value).producer;
  return id == model::kNoNode ? NodeRef{} : NodeRef{node.graph, id};
}

std::vector<NodeRef> users(const NodeRef& node) {
  std::vector<NodeRef> out;
  const model::ValueId value = node.node().output(0);
  if (value == model::kNoValue) return out;
  for (const model::Use& use : node.graph->value(value).uses)
    if (std::find(out.begin(), out.end(), NodeRef{node.graph, use.node}) == out.end())
      out.push_back({node.graph, use.node});
  return out;
}

const model::Tensor* constant_input(const NodeRef& node, size_t slot) {
  constexpr int kSteps = 4;  // own choice: Cast, Reshape, Expand, Identity
  NodeRef at = node;
  for (int i = 0; i < kSteps; ++i, slot = 0) {
    if (const model::Tensor* tensor = at.graph->constant(at.node().input(slot))) return tensor;
    at = producer(at, slot);
    if (!is_any(at, {"Expand", "Reshape", "Unsqueeze", "Squeeze", "Cast", "Identity", "Tile"})) break;
  }
  return nullptr;
}

std::optional<double> scalar_input(const NodeRef& node, size_t slot) {
  const model::Tensor* tensor = constant_input(node, slot);
  if (tensor == nullptr || tensor->count() != 1) return std::nullopt;
  const auto values = tensor->to_doubles();
  if (!values) return std::nullopt;
  return values->front();
}

int constant_slot(const NodeRef& node) {
  for (size_t i = 0; i < node.node().inputs.size(); ++i)
    if (constant_input(node, i) != nullptr) return static_cast<int>(i);
  return -1;
}

bool is_any(const NodeRef& node, std::initializer_list<std::string_view> types) {
  return node && std::find(types.begin(), types.end(), node.node().op_type) != types.end();
}

std::optional<Observation> unfused(const Facts& facts, const std::vector<Site>& sites, std::string_view what) {
  Observation seen;
  std::set<NodeRef> counted;  // a node of two sites costs once
  std::vector<NodeRef> shown;
  size_t separate_sites = 0;
  for (const Site& site : sites) {
    double part = 0, least = 0;
    std::vector<NodeRef> alone;
    for (const NodeRef& node : site.nodes)
      if (facts.runs_alone(node)) alone.push_back(node);
    if (alone.size() < kSeparate) continue;
    ++separate_sites;
    for (const NodeRef& node : alone) {
      if (!counted.insert(node).second) continue;
      part += facts.own_ms(node);
      for (size_t row : facts.own_rows.at(node)) least = std::max(least, facts.diagnosis.operators[row].roof_ms);
      shown.push_back(node);
    }
    seen.part_ms += part;
    seen.saved_ms += std::max(0.0, part - least);
  }
  if (separate_sites == 0 || facts.share(seen.part_ms) < kWorthMentioning) return std::nullopt;
  seen.evidence =
      fmt::format("{} {}: {} nodes run as kernels of their own and take {:.3f} ms, {} of the latency (profile)",
                  separate_sites, what, shown.size(), seen.part_ms, percent(facts.share(seen.part_ms)));
  seen.nodes = labels_of(shown);
  return seen;
}

}  // namespace hone::diagnose
