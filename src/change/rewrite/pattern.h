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

#include "change/rewrite/rule.h"
#include "model/graph.h"

namespace hone::change {

// A condition answers with an empty string when it holds, else with the sentence why not.
using NodeCondition = std::function<std::string(const model::Graph&, model::NodeId)>;
using ValueCondition = std::function<std::string(const model::Graph&, model::ValueId)>;

// Relative tolerance of literals: exporters round 0.7978845608 to 0.79788 (fusion_catalog.md section 2).
inline constexpr double kLiteralTolerance = 2e-4;

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

// --- questions that rules ask; each says what it found in the words of a refusal ---

// The only element of a constant, as a number.
std::optional<double> scalar_constant(const model::Graph& graph, model::ValueId value);
// All elements of an integer constant.
std::optional<std::vector<int64_t>> int_constants(const model::Graph& graph, model::ValueId value);
bool near(double found, double expected, double relative_tolerance = kLiteralTolerance);
// Axes of ReduceX, Squeeze, Unsqueeze, Softmax-like nodes: from attribute "axes" or the input in `slot`, normalised
// with the rank of input 0 (for Unsqueeze: of output 0) and sorted. nullopt when not constant or the rank is not known
// and an axis needs it.
std::optional<std::vector<int64_t>> node_axes(const model::Graph& graph, model::NodeId node, size_t slot = 1);
// All dims of a value when they are known.
std::optional<std::vector<int64_t>> static_dims(const model::Graph& graph, model::ValueId value);
// The last dim of a value; -1 when not known.
int64_t last_dim(const model::Graph& graph, model::ValueId value);
// Rank; -1 when not known.
int rank_of(const model::Graph& graph, model::ValueId value);
model::DType dtype_of_value(const model::Graph& graph, model::ValueId value);
// True when both values have the same known rank and in each dim the same number or the same (non-empty) symbol.
bool same_shape(const model::Graph& graph, model::ValueId a, model::ValueId b);

// Empty when everything that the matched nodes make, except the values in `kept`, is read by matched nodes only; else a
// sentence that names the value, its producer and a reader outside.
std::string outside_reader(const model::Graph& graph, const std::vector<model::NodeId>& nodes,
                           const std::vector<model::ValueId>& kept);

// "Mul 'scores'" for messages: operator and label of a node; "'name'" of a value with what makes it.
std::string describe(const model::Graph& graph, model::NodeId node);
std::string describe_value(const model::Graph& graph, model::ValueId value);

// True when replace_uses(from, to) will work: `from` is no graph output, or `to` can take over its name (it is made by
// a node and is no graph output itself).
bool can_replace(const model::Graph& graph, model::ValueId from, model::ValueId to);

// Lets every reader of `from` read `to`, then removes the nodes of a match (those nothing reads any more). When the
// graph output's name can't move to `to`, an Identity keeps it.
void replace_match(model::Graph& graph, const std::vector<model::NodeId>& nodes, model::ValueId from,
                   model::ValueId to);

}  // namespace hone::change
