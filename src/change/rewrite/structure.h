// The structural gate after rewriting: what must hold of a Graph whatever the rules did.
//
// The interface (names, order, types and symbolic dims of graph inputs and outputs) is as before; every value that is
// read has a producer, is a graph input or an initializer, or is captured from outside; value names are unique;
// producers and uses agree with the nodes; the nodes have a topological order. Subgraphs too. What the values *are* is
// not checked here: that is what differential tests and the accuracy gate are for. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/graph.h"

namespace hone::change {

// Names and types of graph inputs and outputs, in order.
struct Interface {
  using Entry = std::pair<std::string, model::Type>;
  std::vector<Entry> inputs, outputs;
  static Interface of(const model::Graph& graph);
  bool operator==(const Interface&) const = default;
};

// An internal error, with `culprit` (a rule's id) in its where, when the graph does not hold together.
Status check_structure(const model::Graph& graph, const Interface& before, std::string_view culprit);

// Nodes none of whose outputs is read by a node that is not dead itself, readers first. Of this graph, not of
// subgraphs.
std::vector<model::NodeId> dead_nodes(const model::Graph& graph);
// Removes them, in subgraphs too, and the initializers that nothing reads.
void remove_dead(model::Graph& graph);

}  // namespace hone::change
