// Mapping: which nodes of the model a kernel stands for.
//
// Engines rename and fuse. What is tried, in this order, for each name the profile gives for a kernel:
//   1. a node of that name (of several, the one of the kernel's type);
//   2. the node that makes a value of that name (OpenVINO's names for nodes without a name);
//   3. "<type>_<n>": the n-th node in the file, Constants not counted (ONNX Runtime's name for a node without a name);
//   4. the name without what an optimizer hung on it: "_nchwc", "_token_12", "/MatMulAddFusion", "/LayerNormFusion/".
// When the found node has another type than the kernel (ONNX Runtime gives Conv+BatchNormalization the name of the
// latter), the producers of the found node are followed to one of the kernel's type: that is the kernel's root.
// A kernel whose root has its own type computes that node alone or with others; a model node counts as computed on its
// own only then. Kernels that stay without node are the engine's own (ReorderInput) or unknown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/graph.h"

namespace hone::diagnose {

// A node of the main graph or of a subgraph.
struct NodeRef {
  const model::Graph* graph = nullptr;
  model::NodeId id = model::kNoNode;
  explicit operator bool() const { return graph != nullptr; }
  const model::Node& node() const { return graph->node(id); }
  std::string label() const { return node().label(*graph); }
  auto operator<=>(const NodeRef&) const = default;
};

// Every node of a graph and its subgraphs, outer before inner, in order of execution.
std::vector<NodeRef> all_nodes(const model::Graph& graph);

struct Mapped {
  std::vector<NodeRef> nodes;  // named by the kernel, or on the way to the root
  NodeRef root;                // of the kernel's own type; absent when there is none
};

class NodeIndex {
 public:
  explicit NodeIndex(const model::Graph& graph);
  // `names`: as profile::Kernel::node, several separated by '\n'; `type`: the kernel's.
  Mapped find(std::string_view names, std::string_view type) const;
  const std::vector<NodeRef>& nodes() const { return nodes_; }

 private:
  NodeRef find_name(std::string_view name, std::string_view onnx_type) const;
  NodeRef find_exact(std::string_view name, std::string_view onnx_type) const;
  std::vector<NodeRef> nodes_;
  std::unordered_map<std::string_view, std::vector<NodeRef>> by_name_;
  std::unordered_map<std::string_view, NodeRef> by_output_;
  std::unordered_map<std::string, std::vector<NodeRef>> by_position_;  // "Add_12"
};

}  // namespace hone::diagnose
