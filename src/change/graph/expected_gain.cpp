// The time a rewrite can save is that of
//   - the nodes that are gone; of a product or convolution only what is over its least time when its work goes on in a
//     node that is new (merged products, attention);
//   - the elementwise nodes right behind these, which the engine may now fuse;
//   - the layout conversions that the engine put around the gone nodes, at most one before and one behind each;
//   - the time outside of kernels, by their number.
// A node that has no time of its own (fused at load, constant, never run) saves nothing.
// SPDX-License-Identifier: Apache-2.0
#include "change/graph/expected_gain.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/cost.h"

namespace hone::change {

namespace {

using diagnose::OperatorClass;
using model::Graph;
using model::NodeId;

// Without operator times nothing bounds a rewrite. Graph optimizers as a whole gave 0.95-1.37 on exported models, most
// of them less than half of that (peers.md C2).
constexpr Gain kWithoutTimes = {1.4, 1.06};
// Fused nodes cost something too. Own measurements beside the bounds of their profiles: HardSwish chains and scales
// between convolutions 1.40 of 1.48 and 1.42 of 2.04, Gelu 1.10 of 1.20, two clean-ups nothing of 1.04 and 1.07.
constexpr double kUsualPart = 0.5;
// Findings have this limit too (diagnose/facts.cpp).
constexpr double kMost = 100;
// Fixed dimensions gave 1.10-1.13 x on three of the models tried and nothing on the others (peers.md C2). Any kernel
// may be chosen anew, so no bound follows from the profile: twice the most that was seen (own choice).
constexpr Gain kFixedShapes = {1.26, 1.04};

// What names a node before and after: nodes without a name go by their output.
using Key = std::pair<std::string, std::string>;  // label, operator

void visit(const Graph& graph, const std::function<void(const Graph&, NodeId)>& look) {
  for (const NodeId id : graph.order()) {
    look(graph, id);
    for (const auto& body : graph.subgraphs(id)) visit(*body, look);
  }
}

Key key_of(const Graph& graph, NodeId id) { return {graph.node(id).label(graph), graph.node(id).op_type}; }

std::set<Key> keys_of(const Graph& graph) {
  std::set<Key> keys;
  visit(graph, [&](const Graph& inner, NodeId id) { keys.insert(key_of(inner, id)); });
  return keys;
}

// "conv" of "conv_1": how the Graph makes names unique.
std::string without_number(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  return end != std::string::npos && end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
}

bool is_heavy(std::string_view type) {
  const OperatorClass klass = diagnose::class_of(type);
  return klass == OperatorClass::kMatMul || klass == OperatorClass::kConv || klass == OperatorClass::kAttention ||
         klass == OperatorClass::kRecurrent;
}

class Saving {
 public:
  Saving(const Graph& before, const Graph& after, const diagnose::Diagnosis& diagnosis) : diagnosis_(diagnosis) {
    for (const diagnose::OperatorTime& op : diagnosis.operators) {
      Times& times = times_[op.node];
      times.ms += op.ms;
      times.roof_ms += std::min(op.roof_ms, op.ms);
    }
    const std::set<Key> old = keys_of(before), now = keys_of(after);
    std::set_difference(now.begin(), now.end(), old.begin(), old.end(), std::inserter(made_, made_.end()));
    std::set<Key> gone;
    std::set_difference(old.begin(), old.end(), now.begin(), now.end(), std::inserter(gone, gone.end()));
    find_saved(gone);
    find_fusable(before, gone);
  }

  double ms() const { return removed_ms() + fusable_ms() + layout_ms() + outside_ms(); }

 private:
  struct Times {
    double ms = 0, roof_ms = 0;
  };

  double ms_of(const std::string& label) const {
    const auto found = times_.find(label);
    return found == times_.end() ? 0 : found->second.ms;
  }

  // The gone nodes that had time of their own and whose work no made node goes on with under another name: the same
  // name with a number (inlined from a branch), else one of the same type. Of several the shortest is thought to stay:
  // what is left is at most what was saved.
  void find_saved(const std::set<Key>& gone) {
    std::set<Key> renamed;
    std::map<std::string, size_t> stand_ins;
    for (const Key& key : made_) {
      const Key old = {without_number(key.first), key.second};
      if (!gone.contains(old) || !renamed.insert(old).second) ++stand_ins[key.second];
    }
    std::vector<Key> timed;
    for (const Key& key : gone)
      if (!renamed.contains(key) && ms_of(key.first) > 0) timed.push_back(key);
    std::stable_sort(timed.begin(), timed.end(),
                     [&](const Key& a, const Key& b) { return ms_of(a.first) < ms_of(b.first); });
    for (const Key& key : timed) {
      size_t& left = stand_ins[key.second];
      if (left == 0) saved_.insert(key);
      left -= left > 0 ? 1 : 0;
    }
  }

  // Elementwise nodes that stay and read what a saved node made.
  void find_fusable(const Graph& before, const std::set<Key>& gone) {
    visit(before, [&](const Graph& graph, NodeId id) {
      if (!saved_.contains(key_of(graph, id))) return;
      for (const model::ValueId output : graph.node(id).outputs) {
        if (output == model::kNoValue) continue;
        for (const model::Use& use : graph.value(output).uses) {
          const Key key = key_of(graph, use.node);
          if (!gone.contains(key) && diagnose::class_of(key.second) == OperatorClass::kElementwise)
            fusable_.insert(key.first);
        }
      }
    });
  }

  double removed_ms() const {
    const bool work_goes_on =
        std::any_of(made_.begin(), made_.end(), [](const Key& key) { return is_heavy(key.second); });
    double sum = 0;
    for (const Key& key : saved_) {
      const Times& times = times_.at(key.first);
      sum += work_goes_on && is_heavy(key.second) ? times.ms - times.roof_ms : times.ms;
    }
    return sum;
  }

  double fusable_ms() const {
    double sum = 0;
    for (const std::string& label : fusable_) sum += ms_of(label);
    return sum;
  }

  double layout_ms() const {
    std::vector<double> conversions;
    for (const diagnose::OperatorTime& op : diagnosis_.operators)
      if (op.type.starts_with("Reorder")) conversions.push_back(op.ms);
    std::sort(conversions.rbegin(), conversions.rend());
    conversions.resize(std::min(conversions.size(), 2 * saved_.size()));
    double sum = 0;
    for (const double ms : conversions) sum += ms;
    return sum;
  }

  double outside_ms() const {
    return diagnosis_.outside_ms * static_cast<double>(saved_.size()) /
           static_cast<double>(std::max<size_t>(diagnosis_.operators.size(), 1));
  }

  const diagnose::Diagnosis& diagnosis_;
  std::map<std::string, Times> times_;
  std::set<Key> made_, saved_;
  std::set<std::string> fusable_;
};

}  // namespace

Gain expected_gain(const Graph& before, const Graph& after, const diagnose::Diagnosis& diagnosis) {
  if (diagnosis.operators.empty() || diagnosis.latency_ms <= 0) return kWithoutTimes;
  const double rest = diagnosis.latency_ms - Saving(before, after, diagnosis).ms();
  Gain gain;
  gain.upper_bound = diagnosis.latency_ms / std::max(rest, diagnosis.latency_ms / kMost);
  gain.predicted = 1 + kUsualPart * (gain.upper_bound - 1);
  return gain;
}

Gain with_fixed_shapes(const Gain& gain) {
  return {gain.upper_bound * kFixedShapes.upper_bound, gain.predicted * kFixedShapes.predicted};
}

}  // namespace hone::change
