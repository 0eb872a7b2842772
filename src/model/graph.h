// Graph: the view of a model's graph that diagnosis and rewrites use: values with producer and consumers, nodes with
// attributes, constants as Tensors. Names are kept; ids are dense integers, valid for the life of the Graph.
//
// A Graph owns its data; Model makes it from the ONNX form and writes it back (model.h). Nothing here knows protobuf.
// What the view has no field for (doc strings, metadata, overloads, opaque types) is carried along untouched.
//
// Subgraphs (If, Loop, Scan) are Graphs of their own inside an attribute. A value of the outer graph that a subgraph
// reads is a *capture* of the node: it counts as a use (slot kCaptured), so "no other consumer" is true to its word.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/tensor.h"
#include "model/type.h"

namespace hone::model {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an absent optional input or output ("")
inline constexpr NodeId kNoNode = -1;
inline constexpr int kCaptured = -1;  // Use::slot of a capture

class Graph;

// What ONNX calls AttributeProto. Opaque holds the serialized proto of kinds the view has no type for
// (type_proto, sparse_tensor, ref_attr_name of function bodies, lists of graphs or tensors).
struct OpaqueAttribute {
  std::string proto;
  bool operator==(const OpaqueAttribute&) const = default;
};
using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                               std::vector<std::string>, Tensor, std::shared_ptr<Graph>, OpaqueAttribute>;

struct Use {
  NodeId node = kNoNode;
  int slot = 0;  // input index, or kCaptured
  bool operator==(const Use&) const = default;
};

// What a model's file says about a value beyond its Type (doc strings, denotations, metadata): serialized protos, kept
// as long as the type is still the one that was read.
struct ValueCarried {
  Type type;
  std::string input, output, value_info;  // ValueInfoProto
  std::string tensor;                     // TensorProto without its data
};

struct Value {
  std::string name;
  Type type;  // from value_info, inference or the initializer
  NodeId producer = kNoNode;
  int producer_slot = 0;
  std::vector<Use> uses;              // in no particular order; one entry per input slot
  bool is_input = false;              // graph input
  bool is_output = false;             // graph output
  std::optional<Tensor> initializer;  // set for initializers; with is_input it is only a default and NOT a constant
  bool has_value_info = false;        // the model's file declares its type
  bool is_sparse = false;             // a sparse initializer: its data is not shown here
  std::shared_ptr<const ValueCarried> carried;  // null when there is nothing more

  // Read from the surrounding graph: only inside a subgraph.
  bool is_outer() const { return producer == kNoNode && !is_input && !initializer && !is_sparse; }
};

struct Node {
  std::string name;  // may be empty; may be a duplicate in the file
  std::string op_type;
  std::string domain;            // "" is the ONNX domain ("ai.onnx" is normalised to "")
  std::vector<ValueId> inputs;   // kNoValue = absent
  std::vector<ValueId> outputs;  // kNoValue = absent
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::string passthrough;  // serialized rest of the NodeProto (doc_string, metadata_props, overload, ...)

  bool is(std::string_view op, std::string_view in_domain = "") const { return op_type == op && domain == in_domain; }
  const Attribute* attribute(std::string_view key) const;
  int64_t attribute_int(std::string_view key, int64_t fallback) const;
  float attribute_float(std::string_view key, float fallback) const;
  std::string attribute_string(std::string_view key, std::string fallback) const;
  std::optional<std::vector<int64_t>> attribute_ints(std::string_view key) const;
  void set_attribute(std::string_view key, Attribute value);
  void remove_attribute(std::string_view key);
  ValueId input(size_t slot) const { return slot < inputs.size() ? inputs[slot] : kNoValue; }
  ValueId output(size_t slot) const { return slot < outputs.size() ? outputs[slot] : kNoValue; }
  // What reports call the node: its name, or "MatMul -> output_name" when it has none.
  std::string label(const Graph& graph) const;
};

// What to add: used by add_node. Inputs by id, outputs made by add_value before or given as existing values without
// producer.
struct NodeSpec {
  std::string op_type;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::pair<std::string, Attribute>> attributes = {};
  std::string domain = {};
  std::string name = {};  // made unique; derived from op_type when empty
};

class Graph {
 public:
  // --- look ---
  const std::string& name() const { return name_; }
  // Live nodes in a topological order (stable: the file's order where that is topological). Recomputed after edits.
  const std::vector<NodeId>& order() const;
  bool alive(NodeId id) const;
  size_t node_count() const { return live_nodes_; }
  const Node& node(NodeId id) const;
  const Value& value(ValueId id) const;
  size_t value_limit() const { return values_.size(); }  // ids are 0 .. value_limit()-1, dead ones included
  bool value_alive(ValueId id) const;
  // What can be fed, in file order: also inputs that have a default (Value::initializer), which may be left out. Not
  // the initializers that models before IR version 4 list as inputs.
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }  // in file order
  ValueId find_value(std::string_view name) const;                  // kNoValue when absent
  // Opset of a domain in the model this graph belongs to; 0 when not imported.
  int64_t opset(std::string_view domain = "") const;
  const std::map<std::string, int64_t, std::less<>>& imported_opsets() const { return *opsets_; }
  // The producer's node, or nullptr (graph input, initializer, captured from outside).
  const Node* producer(ValueId id) const;
  // The tensor a value always holds: an initializer that is not a graph input, a Constant node's value, or one of
  // those through Identity. nullptr otherwise (in a subgraph: also for constants of the surrounding graph).
  const Tensor* constant(ValueId id) const;
  // The one user of a value, or kNoNode when it has none, several, a capture, or is a graph output.
  NodeId only_user(ValueId id) const;
  // True when the value is read outside `inside` (other nodes, captures, graph outputs).
  bool used_outside(ValueId id, const std::vector<NodeId>& inside) const;
  // Names of outer values this (sub)graph reads; empty for the main graph.
  std::vector<std::string> outer_names() const;
  // The outer values a node's subgraphs read, as values of this graph.
  const std::vector<ValueId>& captures(NodeId id) const;
  // Every subgraph of a node's attributes.
  std::vector<std::shared_ptr<Graph>> subgraphs(NodeId id) const;

  // --- change --- (every edit keeps uses and producers right; names stay unique, subgraph names included)
  // A new value named after `hint`, made unique.
  ValueId add_value(std::string_view hint, Type type = {});
  // A new initializer.
  ValueId add_constant(std::string_view hint, Tensor tensor);
  // Replaces the tensor of an initializer.
  void set_constant(ValueId id, Tensor tensor);
  NodeId add_node(NodeSpec spec);
  // Removes a node; its outputs lose their producer. HONE_CHECKs nothing about users: replace them first.
  void remove_node(NodeId id);
  void set_input(NodeId id, size_t slot, ValueId value);
  void set_attribute(NodeId id, std::string_view key, Attribute value);
  void remove_attribute(NodeId id, std::string_view key);
  void set_op(NodeId id, std::string_view op_type, std::string_view domain = "");
  // Lets every user of `from` (captures too, by renaming inside the subgraphs) read `to`. When `from` is a graph
  // output, the output keeps its *name*: `to` takes the name over when it is neither a graph input, an initializer
  // nor a graph output itself; else returns false and nothing is changed (the caller keeps an Identity).
  // The node that produces `to` keeps reading `from`, so a node can be put behind a value: add it, then replace.
  bool replace_uses(ValueId from, ValueId to);
  // Makes a value a graph output too, after those there are; nothing changes when it is one already.
  void add_output(ValueId id);
  void set_type(ValueId id, Type type);
  // Removes initializers and values that nothing reads (never graph inputs or outputs, nor what a quantization
  // annotation names), in subgraphs too; takes note of captures that edits inside subgraphs have ended. Returns how
  // many.
  size_t remove_unused_values();
  // Gives a node another name, made unique; returns it.
  const std::string& rename_node(NodeId id, std::string_view hint);
  // Puts the nodes of a subgraph without inputs in the place of the node that has it (an If whose condition is known).
  // Values and nodes get unique names; the subgraph's outputs take the place of the node's, by position.
  void inline_subgraph(NodeId id, const Graph& subgraph);
  bool can_inline(const Graph& subgraph) const;
  // Imports a domain's opset (no-op when already imported).
  void import_opset(std::string_view domain, int64_t version);
  std::string unique_name(std::string_view hint) const;

  // Deep copy (tensors shared).
  std::shared_ptr<Graph> clone() const;

 private:
  friend class GraphReader;  // model/graph_reader.h: ONNX form -> Graph
  friend class GraphWriter;  // model/graph_writer.h: Graph -> ONNX form
  // The names taken in a graph and all its subgraphs. Never given back: a stale name is never reused by another value.
  struct Names {
    std::unordered_set<std::string> values, nodes;
    std::unordered_map<std::string, int> next;  // suffix to try next for a hint
  };

  ValueId new_value(std::string name);
  std::string make_unique(std::string_view hint, const std::unordered_set<std::string>& taken) const;
  void add_use(ValueId value, Use use);
  void drop_use(ValueId value, Use use);
  void register_captures(NodeId id);
  void drop_captures(NodeId id);
  // Gives a value another name, here and in subgraphs that read it.
  void rename(ValueId id, const std::string& name);
  // Makes values of this graph for those of a subgraph, and renames the subgraph's accordingly; by ids of the subgraph.
  std::vector<ValueId> adopt_values(Graph& body);
  // Inside a subgraph: reads the outer value `to` instead of `from`.
  void replace_outer(const std::string& from, const std::string& to);
  // The nodes that must come before `id`.
  std::vector<NodeId> sources(NodeId id) const;
  // Fills order_; returns a node of a cycle, or kNoNode.
  NodeId sort() const;
  std::shared_ptr<Graph> clone_with(std::shared_ptr<Names> names,
                                    std::shared_ptr<std::map<std::string, int64_t, std::less<>>> opsets) const;

  std::string name_;
  std::deque<Value> values_;  // a deque: references stay valid while values are added
  std::vector<char> value_dead_;
  std::deque<Node> nodes_;
  std::vector<char> node_dead_;
  size_t live_nodes_ = 0;
  std::vector<ValueId> inputs_, outputs_;
  // Inputs as the file lists them. Before IR 4 every initializer is listed too, though it can't be fed.
  std::vector<ValueId> listed_inputs_;
  std::unordered_map<std::string, ValueId> by_name_;
  std::unordered_map<NodeId, std::vector<ValueId>> captures_;
  std::unordered_set<std::string> pinned_;  // named by quantization annotations or training info
  std::shared_ptr<std::map<std::string, int64_t, std::less<>>> opsets_ =
      std::make_shared<std::map<std::string, int64_t, std::less<>>>();  // shared with subgraphs
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
  std::string passthrough_;  // serialized rest of the GraphProto
  mutable std::vector<NodeId> order_;
  mutable bool order_stale_ = true;
  // Tensors of Constant nodes written as value_int, value_floats, ...; made when asked for.
  mutable std::unordered_map<NodeId, std::shared_ptr<const Tensor>> made_constants_;
};

}  // namespace hone::model
