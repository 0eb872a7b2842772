// The rewrite driver: applies rules to a Model until none fires, and tells what happened.
//
//   per round: for each rule, for each graph (main, then subgraphs): match every node, rewrite what matches, again
//   until nothing matches; then remove dead nodes and infer shapes. Rounds repeat until one changes nothing.
//
// The result is held against what was there before (structure.h): a rule that breaks the graph is an internal error
// naming the rule, and the model is not usable any more. Work on a clone() when the original is still needed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "change/rewrite/rule.h"
#include "model/model.h"

namespace hone::change {

struct RewriteOptions {
  // Rounds normally end at 2 to 4; a rule set that still changes things after this many is a bug (rules undo each
  // other).
  int max_rounds = 32;
  // Check the structure after every rule that fired, not only at the end: tests and debugging.
  bool check_each_rule = false;
  // Keep refusals (costs a sentence per near miss).
  bool explain = true;
  // Run the ONNX checker on the result.
  bool check_result = true;
  // Convert the model to the opset that a rule needs (RuleInfo::opset) when that lets it fire. A model that can't be
  // converted stays at its opset.
  bool raise_opset = true;
};

struct Refusal {
  std::string node, why;
  bool operator==(const Refusal&) const = default;
};

struct RuleReport {
  std::string id;
  size_t fired = 0;
  std::vector<std::string> sites;  // labels of the roots, as they were called before the rewrite
  std::vector<Refusal> refused;    // near misses in the final graph
};

struct RewriteReport {
  std::vector<RuleReport> rules;             // in the order they were given
  size_t nodes_before = 0, nodes_after = 0;  // subgraphs included
  int rounds = 0;
  int64_t opset_before = 0, opset_after = 0;  // of the ONNX domain; they differ when a rule needed a newer one
  // Nodes whose name another node of their graph had (ONNX Runtime refuses such a model): "n -> n_1 (Conv, makes y)".
  std::vector<std::string> renamed_nodes;
  size_t fired() const;
  // {"rules": [{"id", "fired", "sites", "refused": [{"node", "why"}]}], "nodes_before", "nodes_after"}
  Json to_json() const;
};

Result<RewriteReport> rewrite(model::Model& model, const std::vector<const Rule*>& rules,
                              const RewriteOptions& options = {});

// Nodes of a graph and of all its subgraphs.
size_t count_nodes(const model::Graph& graph);

}  // namespace hone::change
