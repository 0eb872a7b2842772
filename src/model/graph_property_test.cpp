// Random edits keep a Graph's promises: uses, producers, captures, names and order agree with the nodes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "model/model.h"

namespace hone::model {
namespace {

void expect_consistent(const Graph& graph) {
  std::map<ValueId, std::multiset<std::pair<NodeId, int>>> uses;
  std::set<std::string> names;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (size_t slot = 0; slot < node.inputs.size(); ++slot)
      if (node.inputs[slot] != kNoValue) uses[node.inputs[slot]].emplace(id, static_cast<int>(slot));
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (node.outputs[slot] == kNoValue) continue;
      const Value& value = graph.value(node.outputs[slot]);
      EXPECT_EQ(value.producer, id) << value.name;
      EXPECT_EQ(value.producer_slot, static_cast<int>(slot)) << value.name;
    }
    std::set<ValueId> captured;
    for (const auto& inner : graph.subgraphs(id)) {
      expect_consistent(*inner);
      for (const auto& name : inner->outer_names()) {
        ASSERT_NE(graph.find_value(name), kNoValue) << name;
        captured.insert(graph.find_value(name));
      }
    }
    for (const ValueId value : captured) uses[value].emplace(id, kCaptured);
    const auto& known = graph.captures(id);
    EXPECT_EQ(std::set<ValueId>(known.begin(), known.end()), captured);
  }
  for (size_t i = 0; i < graph.value_limit(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (!graph.value_alive(id)) continue;
    const Value& value = graph.value(id);
    std::multiset<std::pair<NodeId, int>> known;
    for (const Use& use : value.uses) known.emplace(use.node, use.slot);
    EXPECT_EQ(known, uses[id]) << value.name;
    EXPECT_TRUE(names.insert(value.name).second) << value.name;
    EXPECT_EQ(graph.find_value(value.name), id) << value.name;
    EXPECT_EQ(value.is_output, std::ranges::count(graph.outputs(), id) > 0) << value.name;
  }
}

class Edits {
 public:
  Edits(Graph& graph, uint64_t seed) : graph_(graph), random_(seed) {}

  void one() {
    switch (random_() % 4) {
      case 0:
        return insert_behind();
      case 1:
        return replace();
      case 2:
        return remove_dead_nodes();
      default:
        graph_.remove_unused_values();
    }
  }

 private:
  // Where a value comes into being: before every node, or with its node.
  std::ptrdiff_t position(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    return producer == kNoNode ? -1 : std::ranges::find(graph_.order(), producer) - graph_.order().begin();
  }

  std::vector<ValueId> live_values() const {
    std::vector<ValueId> ids;
    for (size_t i = 0; i < graph_.value_limit(); ++i) {
      const auto id = static_cast<ValueId>(i);
      const bool readable = graph_.value_alive(id) && (position(id) >= 0 || graph_.value(id).is_input ||
                                                       graph_.value(id).initializer || !graph_.value(id).uses.empty());
      if (readable) ids.push_back(id);
    }
    return ids;
  }

  ValueId any(const std::vector<ValueId>& ids) { return ids[random_() % ids.size()]; }

  void insert_behind() {
    const ValueId value = any(live_values());
    const ValueId out = graph_.add_value(graph_.value(value).name, graph_.value(value).type);
    const NodeId node = graph_.add_node({"Identity", {value}, {out}});
    graph_.replace_uses(value, out);
    EXPECT_EQ(graph_.node(node).input(0), value);
  }

  void replace() {
    const auto ids = live_values();
    const ValueId from = any(ids);
    const ValueId to = any(ids);
    // Never a later value for an earlier one: that could make a cycle.
    if (position(to) >= position(from) && position(from) >= 0) return;
    if (position(from) < 0 && position(to) >= 0) return;
    const bool done = graph_.replace_uses(from, to);
    if (!done || from == to) return;
    for (const Use& use : graph_.value(from).uses) EXPECT_EQ(use.node, graph_.value(to).producer);
    EXPECT_FALSE(graph_.value(from).is_output);
  }

  void remove_dead_nodes() {
    const std::vector<NodeId> order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const auto& outputs = graph_.node(*id).outputs;
      const bool dead = std::ranges::all_of(outputs, [&](ValueId value) {
        return value == kNoValue || (graph_.value(value).uses.empty() && !graph_.value(value).is_output);
      });
      if (dead) graph_.remove_node(*id);
    }
  }

  Graph& graph_;
  std::mt19937_64 random_;
};

TEST(GraphProperty, RandomEditsKeepItConsistent) {
  const char* const files[] = {"bug_cases/two_ifs_one_set_of_names", "bug_cases/if_branches_matmul",
                               "bug_cases/layernorm_inner_outputs", "exported/lstm.ts17.dyn"};
  for (const char* file : files) {
    for (uint64_t seed = 0; seed < 25; ++seed) {
      SCOPED_TRACE(std::string(file) + " seed " + std::to_string(seed));
      Model model = *Model::load(fs::path(HONE_TEST_DATA) / "model" / (std::string(file) + ".onnx"));
      expect_consistent(model.graph());
      Edits edits(model.graph(), seed);
      for (int i = 0; i < 30; ++i) {
        edits.one();
        expect_consistent(model.graph());
        if (::testing::Test::HasFailure()) return;
      }
      expect_consistent(model.clone().graph());
      const auto again = Model::from_bytes(*model.to_bytes());
      ASSERT_TRUE(again.has_value()) << again.error().line();
      expect_consistent(again->graph());
      EXPECT_EQ(again->fingerprint(), model.fingerprint());
    }
  }
}

}  // namespace
}  // namespace hone::model
