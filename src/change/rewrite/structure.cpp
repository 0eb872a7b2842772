// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "change/rewrite/pattern.h"

namespace hone::change {

using model::Graph;
using model::kNoNode;
using model::kNoValue;
using model::NodeId;
using model::ValueId;

Interface Interface::of(const Graph& graph) {
  Interface interface;
  for (const ValueId id : graph.inputs()) interface.inputs.emplace_back(graph.value(id).name, graph.value(id).type);
  for (const ValueId id : graph.outputs()) interface.outputs.emplace_back(graph.value(id).name, graph.value(id).type);
  return interface;
}

namespace {

// Empty when all holds, else what does not.
std::string interface_problem(const std::vector<Interface::Entry>& before, const std::vector<Interface::Entry>& after,
                              std::string_view what) {
  if (before.size() != after.size())
    return fmt::format("the graph has {} {}s, had {}", after.size(), what, before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].first != after[i].first)
      return fmt::format("graph {} {} is '{}', was '{}'", what, i, after[i].first, before[i].first);
    if (before[i].second != after[i].second)
      return fmt::format("graph {} '{}' is {}, was {}", what, before[i].first, to_text(after[i].second),
                         to_text(before[i].second));
  }
  return {};
}

class Checker {
 public:
  Checker(const Graph& graph, const std::unordered_set<std::string>& outer) : graph_(graph), outer_(outer) {}

  std::string problem() {
    for (auto check :
         {&Checker::values_problem, &Checker::order_problem, &Checker::uses_problem, &Checker::subgraphs_problem}) {
      std::string why = (this->*check)();
      if (!why.empty()) return why;
    }
    return {};
  }

 private:
  bool exists(ValueId id) const {
    return id >= 0 && static_cast<size_t>(id) < graph_.value_limit() && graph_.value_alive(id);
  }

  // A value is there before any node runs.
  bool given(ValueId id) const {
    const model::Value& value = graph_.value(id);
    return value.is_input || value.initializer.has_value() || value.is_sparse ||
           (value.producer == kNoNode && outer_.contains(value.name));
  }

  std::string values_problem() {
    std::unordered_set<std::string> names;
    for (ValueId id = 0; static_cast<size_t>(id) < graph_.value_limit(); ++id) {
      if (!graph_.value_alive(id)) continue;
      const model::Value& value = graph_.value(id);
      if (value.name.empty()) return fmt::format("value {} has no name", id);
      if (!names.insert(value.name).second) return fmt::format("two values are called '{}'", value.name);
      if (value.producer == kNoNode) continue;
      if (!graph_.alive(value.producer)) return fmt::format("'{}' is made by a removed node", value.name);
      if (value.initializer || value.is_input) return fmt::format("'{}' is given and made by a node", value.name);
    }
    for (const ValueId id : graph_.outputs())
      if (!exists(id) || (graph_.value(id).producer == kNoNode && !given(id)))
        return fmt::format("nothing makes the graph output '{}'", exists(id) ? graph_.value(id).name : "?");
    return {};
  }

  std::string order_problem() {
    const std::vector<NodeId>& order = graph_.order();
    if (order.size() != graph_.node_count()) return "the nodes have no topological order";
    std::unordered_set<ValueId> made;
    for (const NodeId id : order) {
      const model::Node& node = graph_.node(id);
      for (const ValueId input : node.inputs) {
        if (input == kNoValue) continue;
        if (!exists(input)) return fmt::format("{} reads a removed value", describe(graph_, id));
        if (!made.contains(input) && !given(input))
          return fmt::format("{} reads '{}', which nothing makes before it", describe(graph_, id),
                             graph_.value(input).name);
      }
      for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
        const ValueId output = node.outputs[slot];
        if (output == kNoValue) continue;
        if (!exists(output)) return fmt::format("{} makes a removed value", describe(graph_, id));
        if (graph_.value(output).producer != id || graph_.value(output).producer_slot != static_cast<int>(slot))
          return fmt::format("'{}' does not know its producer", graph_.value(output).name);
        made.insert(output);
      }
    }
    return {};
  }

  std::string uses_problem() {
    std::unordered_map<ValueId, std::vector<std::pair<NodeId, int>>> uses;
    for (const NodeId id : graph_.order()) {
      const model::Node& node = graph_.node(id);
      for (size_t slot = 0; slot < node.inputs.size(); ++slot)
        if (node.inputs[slot] != kNoValue) uses[node.inputs[slot]].emplace_back(id, static_cast<int>(slot));
    }
    for (ValueId id = 0; static_cast<size_t>(id) < graph_.value_limit(); ++id) {
      if (!graph_.value_alive(id)) continue;
      std::vector<std::pair<NodeId, int>> known;
      for (const model::Use& use : graph_.value(id).uses)
        if (use.slot != model::kCaptured) known.emplace_back(use.node, use.slot);
      std::vector<std::pair<NodeId, int>>& real = uses[id];
      std::sort(known.begin(), known.end());
      std::sort(real.begin(), real.end());
      if (known != real) return fmt::format("the list of readers of '{}' is wrong", graph_.value(id).name);
    }
    return {};
  }

  std::string subgraphs_problem() {
    std::unordered_set<std::string> visible = outer_;
    for (ValueId id = 0; static_cast<size_t>(id) < graph_.value_limit(); ++id)
      if (graph_.value_alive(id)) visible.insert(graph_.value(id).name);
    for (const NodeId id : graph_.order()) {
      for (const auto& body : graph_.subgraphs(id)) {
        std::string why = Checker(*body, visible).problem();
        if (!why.empty()) return fmt::format("in a subgraph of {}: {}", describe(graph_, id), why);
      }
    }
    return {};
  }

  const Graph& graph_;
  const std::unordered_set<std::string>& outer_;
};

}  // namespace

Status check_structure(const Graph& graph, const Interface& before, std::string_view culprit) {
  const Interface after = Interface::of(graph);
  std::string why = interface_problem(before.inputs, after.inputs, "input");
  if (why.empty()) why = interface_problem(before.outputs, after.outputs, "output");
  if (why.empty()) why = Checker(graph, {}).problem();
  if (why.empty()) return {};
  return fail(internal_error("rewrite broke the graph: " + why, std::string(culprit),
                             fmt::format("leave it out with --skip {}, and report this", culprit)));
}

std::vector<NodeId> dead_nodes(const Graph& graph) {
  std::vector<NodeId> dead;
  std::unordered_set<NodeId> is_dead;
  const std::vector<NodeId>& order = graph.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const auto& outputs = graph.node(*it).outputs;
    const bool read = std::any_of(outputs.begin(), outputs.end(), [&](ValueId id) {
      if (id == kNoValue) return false;
      const model::Value& value = graph.value(id);
      return value.is_output || std::any_of(value.uses.begin(), value.uses.end(),
                                            [&](const model::Use& use) { return !is_dead.contains(use.node); });
    });
    if (read) continue;
    dead.push_back(*it);
    is_dead.insert(*it);
  }
  return dead;
}

void remove_dead(Graph& graph) {
  // Subgraphs first: what they no longer read may be dead out here.
  for (const NodeId id : graph.order())
    for (const auto& body : graph.subgraphs(id)) remove_dead(*body);
  graph.remove_unused_values();
  for (const NodeId id : dead_nodes(graph)) graph.remove_node(id);
  graph.remove_unused_values();
}

}  // namespace hone::change
