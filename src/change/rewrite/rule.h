// Rule: one graph rewrite, `before -> after [if condition]`. match() only looks and says why not; rewrite() edits.
//
// The driver (driver.h) visits nodes, applies what matches, and keeps the refusals for --explain. A refusal is a
// sentence about a near miss ("the Softmax also feeds Identity 'probs'"), given from the first condition that fails
// after the root has matched.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
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
  // The finding it answers (diagnose/findings.def).
  std::string_view finding;
  accuracy::Class accuracy = accuracy::Class::kExact;
  // True when ONNX Runtime's own optimizer does the same at load (fusion_catalog.md section 0).
  bool done_by_onnxruntime = false;
  // The one engine it is for, because of how that engine lays out or runs things; empty: any.
  std::string_view engine = {};
  // The rule needs this opset of the ONNX domain: the driver raises the model's opset first (RewriteOptions).
  int64_t opset = 0;
  // With `opset`: an operator that every site of the rule has. A model without it is not worth converting.
  std::string_view anchor = {};
  // Not empty: the rule is applied only when it is asked for by name, and this is why ("its kernel is slower than
  // ...").
  std::string_view only_when_named = {};
};

// What a pattern's names stand for at one site.
struct Bindings {
  std::map<std::string, model::ValueId, std::less<>> values;
  std::map<std::string, model::NodeId, std::less<>> nodes;
  std::map<std::string, double, std::less<>> numbers;
  // Each HONE_CHECKs that the name is bound.
  model::ValueId value(std::string_view name) const;
  model::NodeId node(std::string_view name) const;
  double number(std::string_view name) const;
  bool has(std::string_view name) const;  // as a value, node or number
};

// What match() found. All fields but `state` and `why` are for rewrite(); how they are filled is the rule's
// own business.
struct Match {
  enum class State { kNo, kRefused, kYes } state = State::kNo;
  std::string why;                   // for kRefused
  std::vector<model::NodeId> nodes;  // the matched nodes
  std::vector<model::ValueId> values;
  std::vector<double> numbers;
  std::vector<model::Tensor> tensors;
  Bindings found;
  // A rule over the whole graph may change several sites at once; their labels (empty: one site, the root).
  std::vector<std::string> sites;
  static Match no() { return {}; }
  static Match refused(std::string why) {
    Match match;
    match.state = State::kRefused;
    match.why = std::move(why);
    return match;
  }
  static Match yes() {
    Match match;
    match.state = State::kYes;
    return match;
  }
};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual const RuleInfo& info() const = 0;
  // True for a rule that looks at a graph as a whole (duplicates, dead nodes): match() is called with kNoNode, once a
  // pass, and rewrite() changes all it found.
  virtual bool whole_graph() const { return false; }
  virtual Match match(const model::Graph& graph, model::NodeId root) const = 0;
  // Edits the graph; must leave it valid. Called only with a Match of this graph that said kYes.
  virtual void rewrite(model::Graph& graph, const Match& match) const = 0;
};

// All rules in the order of rules.def. A rule that is not in that list does not exist.
const std::vector<const Rule*>& all_rules();
// Those to apply for an engine when none is named: without the rules of other engines and those that are applied only
// when asked for by name. `engine` empty: those for any engine.
std::vector<const Rule*> rules_for(std::string_view engine);
// The findings that rules answer, each once, in the order of the rules.
std::vector<std::string> findings_of(const std::vector<const Rule*>& rules);
Result<const Rule*> find_rule(std::string_view id);

}  // namespace hone::change
