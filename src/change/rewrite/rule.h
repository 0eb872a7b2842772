// Rule: one graph rewrite, `before -> after [if condition]`. match() only looks and says why not; rewrite() edits.
//
// The driver (driver.h) visits nodes, applies what matches, and keeps the refusals for --explain. A refusal is a
// sentence about a near miss ("the Softmax also feeds Identity 'probs'"), given from the first condition that fails
// after the root has matched.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/accuracy.h"
#include "base/result.h"
#include "model/graph.h"

namespace hone::change {

struct RuleInfo {
  std::string_view id;  // "fold-bn-into-conv"
  std::string_view before, after, condition;
  accuracy::Class accuracy = accuracy::Class::kExact;
  // True when ONNX Runtime's own optimizer does the same at load (fusion_catalog.md section 0).
  bool done_by_onnxruntime = false;
};

// What match() found. `values`/`nodes` are for rewrite(); how they are filled is the rule's own business.
struct Match {
  enum class State { kNo, kRefused, kYes } state = State::kNo;
  std::string why;                   // for kRefused
  std::vector<model::NodeId> nodes;  // the matched nodes, all removed by rewrite (unless shared)
  std::vector<model::ValueId> values;
  std::vector<double> numbers;
  static Match no() { return {}; }
  static Match refused(std::string why) { return {State::kRefused, std::move(why), {}, {}, {}}; }
  static Match yes() { return {State::kYes, {}, {}, {}, {}}; }
};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual const RuleInfo& info() const = 0;
  virtual Match match(const model::Graph& graph, model::NodeId root) const = 0;
  // Edits the graph; must leave it valid. Called only with a Match of this graph that said kYes.
  virtual void rewrite(model::Graph& graph, const Match& match) const = 0;
};

// All rules in the order of rules.def.
const std::vector<const Rule*>& all_rules();
Result<const Rule*> find_rule(std::string_view id);

}  // namespace hone::change
