// f(x) -> a, f(x) -> b   ==>   f(x) -> a, b's readers read a   [if f gives the same twice]
//
// Common-subexpression elimination over a whole graph: the same shape arithmetic is exported once per use.
// Safe: same operator, attributes and input *values*; never operators that draw random numbers, nodes with subgraphs,
// or domains hone does not know (a custom operator may have state). Two graph outputs stay two. All opsets.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

bool repeatable(const Graph& graph, NodeId id) {
  static constexpr std::array kRandom = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                                         "Multinomial",  "Bernoulli",        "Dropout"};
  static constexpr std::array kDomains = {"", "com.microsoft", "ai.onnx.ml"};
  const Node& node = graph.node(id);
  return std::find(kRandom.begin(), kRandom.end(), node.op_type) == kRandom.end() &&
         std::find(kDomains.begin(), kDomains.end(), node.domain) != kDomains.end() && graph.subgraphs(id).empty();
}

bool same_attributes(const Node& a, const Node& b) {
  if (a.attributes.size() != b.attributes.size()) return false;
  return std::all_of(a.attributes.begin(), a.attributes.end(), [&](const auto& entry) {
    const model::Attribute* other = b.attribute(entry.first);
    return other != nullptr && *other == entry.second;
  });
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {}

  Match find() {
    for (const NodeId id : graph_.order()) {
      if (!repeatable(graph_, id)) continue;
      std::vector<NodeId>& same_key = seen_[key_of(id)];
      const auto twin =
          std::find_if(same_key.begin(), same_key.end(), [&](NodeId other) { return mergeable(id, other); });
      if (twin == same_key.end()) {
        same_key.push_back(id);
      } else {
        merge(id, *twin);
      }
    }
    if (match_.nodes.empty()) return Match::no();
    match_.state = Match::State::kYes;
    return std::move(match_);
  }

 private:
  // Nodes merged so far count as merged: f(g(x)) twice goes in one pass.
  ValueId kept(ValueId value) const {
    const auto found = stands_for_.find(value);
    return found == stands_for_.end() ? value : found->second;
  }

  std::string key_of(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string key = node.domain + ":" + node.op_type;
    for (const ValueId input : node.inputs) key += fmt::format(",{}", kept(input));
    key += fmt::format("/{}", node.attributes.size());
    for (const ValueId output : node.outputs) key += output == kNoValue ? "-" : "o";
    return key;
  }

  bool is_output(ValueId value) const { return graph_.value(value).is_output || became_output_.contains(value); }

  bool mergeable(NodeId later, NodeId first) const {
    const Node &a = graph_.node(later), &b = graph_.node(first);
    if (!same_attributes(a, b)) return false;
    for (size_t slot = 0; slot < a.outputs.size(); ++slot)
      if (a.outputs[slot] != kNoValue && is_output(a.outputs[slot]) && is_output(b.outputs[slot])) return false;
    return true;
  }

  void merge(NodeId later, NodeId first) {
    const Node &a = graph_.node(later), &b = graph_.node(first);
    for (size_t slot = 0; slot < a.outputs.size(); ++slot) {
      if (a.outputs[slot] == kNoValue) continue;
      match_.values.insert(match_.values.end(), {a.outputs[slot], b.outputs[slot]});
      stands_for_[a.outputs[slot]] = b.outputs[slot];
      if (is_output(a.outputs[slot])) became_output_.insert(b.outputs[slot]);
    }
    match_.nodes.push_back(later);
    match_.sites.push_back(a.label(graph_));
  }

  const Graph& graph_;
  std::unordered_map<std::string, std::vector<NodeId>> seen_;
  std::unordered_map<ValueId, ValueId> stands_for_;
  std::unordered_set<ValueId> became_output_;
  Match match_;
};

class MergeDuplicateNodes final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"merge-duplicate-nodes",
                                "two nodes with the same operator, attributes and inputs",
                                "one of them, read by all",
                                "the operator gives the same result twice (no random numbers, no state)",
                                "small_kernels",
                                accuracy::Class::kExact,
                                true};
    return kInfo;
  }

  bool whole_graph() const override { return true; }

  Match match(const Graph& graph, NodeId /*root*/) const override { return Finder(graph).find(); }

  void rewrite(Graph& graph, const Match& match) const override {
    for (size_t i = 0; i < match.values.size(); i += 2)
      HONE_CHECK(graph.replace_uses(match.values[i], match.values[i + 1]));
    for (const NodeId id : match.nodes) graph.remove_node(id);
  }
};

}  // namespace

const Rule& merge_duplicate_nodes() {
  static const MergeDuplicateNodes kRule;
  return kRule;
}

}  // namespace hone::change::rule
