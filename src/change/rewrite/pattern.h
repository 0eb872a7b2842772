// Pattern: a small graph to look for, written as an expression, and the matcher that looks for it.
//
//   const Pattern x = any("x");
//   const Pattern gelu = op("Mul", {op("Mul", {x, op("Add", {op("Erf", {op("Div", {x, literal(1.41421356)})}).anchor(),
//                                                            literal(1)})}),
//                                   literal(0.5)});
//   const Attempt attempt = match_pattern(graph, gelu, root);   // root: the node of the outermost op
//
// The same Pattern object in two places means the same value in both (x above): patterns are graphs, not only trees.
// Inputs of Add, Mul, ... are tried in both orders; one_of() tries alternatives; the search backtracks, so any
// combination that fits is found. A pattern node is a *value* of the graph: op() is output 0 of such a node, and
// output_of() another output.
//
// Every matched node but the root is interior: it goes away when the root is replaced, so all its outputs must be read
// inside the match only: by no other node, no subgraph, and not as a graph output. A node that may stay is marked
// may_be_read_elsewhere().
//
// A refusal is for people: the sentence of the first condition that failed on the attempt that got furthest, and only
// once the anchor() has matched (without an anchor: once two ops have), so that not every Add is a near miss of
// everything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "change/rewrite/facts.h"
#include "change/rewrite/rule.h"
#include "model/graph.h"

namespace hone::change {

// A condition answers with an empty string when it holds, else with the sentence why not.
using NodeCondition = std::function<std::string(const model::Graph&, model::NodeId)>;
using ValueCondition = std::function<std::string(const model::Graph&, model::ValueId)>;

class Pattern {
 public:
  // Binds the value (and for op(): the node) to a name of the Bindings. Equal names must be equal values.
  Pattern named(std::string name) const;
  // A condition on the value; on the node (op() only).
  Pattern where(ValueCondition condition) const;
  Pattern where_node(NodeCondition condition) const;
  // op() only: the operator's domain, "" by default.
  Pattern domain(std::string domain) const;
  // op() only: an integer attribute must have this value; `fallback` is what absence means.
  Pattern attribute(std::string key, int64_t value, int64_t fallback) const;
  // op() only: inputs after those of the pattern may be there.
  Pattern more_inputs() const;
  // op() only: inputs in the written order only, though the operator is commutative.
  Pattern ordered() const;
  // op() only: the node is not interior: it may have other readers, and is not in Attempt::nodes.
  Pattern may_be_read_elsewhere() const;
  // op() only: matching it makes a failure worth telling.
  Pattern anchor() const;

  struct Impl;
  explicit Pattern(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  template <class Edit>
  Pattern edited(Edit edit) const;
  std::shared_ptr<Impl> impl_;
};

// Any value (not an absent one).
Pattern any(std::string name = {});
// An optional input that is not given.
Pattern absent();
// A value that is always the same tensor: Graph::constant.
Pattern constant(std::string name = {});
// A constant with one element, of any numeric type; its value is bound as a number too.
Pattern scalar(std::string name = {});
// A scalar() near `value`.
Pattern literal(double value, double relative_tolerance = kLiteralTolerance, std::string name = {});
// Output 0 of a node with this operator and these inputs (no others, unless more_inputs()).
Pattern op(std::string type, std::vector<Pattern> inputs);
// The same, of any of several operators.
Pattern op(std::initializer_list<const char*> types, std::vector<Pattern> inputs);
// Another output of an op() pattern.
Pattern output_of(const Pattern& node, int slot);
// The first alternative that leads to a match of the whole.
Pattern one_of(std::vector<Pattern> alternatives);
// `inner`, or Casts of it (the upcast islands of float16 models).
Pattern maybe_cast(const Pattern& inner);
// x·x: Mul(x, x), or Pow(x, 2).
Pattern square(const Pattern& inner);

struct Attempt {
  bool matched = false;
  Bindings found;
  std::vector<model::NodeId> nodes;  // interior nodes and the root, root first
  std::string why;                   // when it is a near miss, else empty
  // kYes with nodes and bindings, kRefused with why, or kNo.
  Match to_match() const;
};

// Matches `pattern` (an op() or a one_of() of them) with `root` as its outermost node.
Attempt match_pattern(const model::Graph& graph, const Pattern& pattern, model::NodeId root);

}  // namespace hone::change
