// Graph: a subgraph put in the place of the node that has it; node names.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/graph.h"

namespace hone::model {

const std::string& Graph::rename_node(NodeId id, std::string_view hint) {
  HONE_CHECK(alive(id));
  Node& renamed = nodes_[static_cast<size_t>(id)];
  renamed.name = make_unique(hint, names_->nodes);
  names_->nodes.insert(renamed.name);
  return renamed.name;
}

bool Graph::can_inline(const Graph& body) const {
  // A sparse initializer's data is not in the Graph, so it can't move.
  return body.inputs_.empty() && std::ranges::none_of(body.values_, [](const Value& value) { return value.is_sparse; });
}

std::vector<ValueId> Graph::adopt_values(Graph& body) {
  std::vector<ValueId> adopted(body.values_.size(), kNoValue);
  for (size_t i = 0; i < body.values_.size(); ++i) {
    const auto inner = static_cast<ValueId>(i);
    if (!body.value_alive(inner)) continue;
    const Value& value = body.values_[i];
    if (value.is_outer()) {
      adopted[i] = find_value(value.name);
      if (adopted[i] == kNoValue) adopted[i] = new_value(value.name);  // read from further outside
      continue;
    }
    adopted[i] = new_value(unique_name(value.name));
    Value& mine = values_[static_cast<size_t>(adopted[i])];
    mine.type = value.type;
    mine.initializer = value.initializer;
    mine.has_value_info = value.has_value_info;
    mine.carried = value.carried;
    // Subgraphs inside the body read it by the new name.
    body.rename(inner, mine.name);
  }
  return adopted;
}

void Graph::inline_subgraph(NodeId id, const Graph& subgraph) {
  HONE_CHECK(can_inline(subgraph), "{}", node(id).label(*this));
  const std::shared_ptr<Graph> body = subgraph.clone_with(names_, opsets_);
  const std::vector<ValueId> adopted = adopt_values(*body);
  const auto mapped = [&](const std::vector<ValueId>& ids) {
    std::vector<ValueId> out;
    for (const ValueId inner : ids) out.push_back(inner == kNoValue ? kNoValue : adopted[static_cast<size_t>(inner)]);
    return out;
  };
  for (const NodeId inner : body->order()) {
    const Node& moved = body->node(inner);
    const NodeId mine = add_node({.op_type = moved.op_type,
                                  .inputs = mapped(moved.inputs),
                                  .outputs = mapped(moved.outputs),
                                  .attributes = moved.attributes,
                                  .domain = moved.domain,
                                  .name = moved.name});
    nodes_[static_cast<size_t>(mine)].passthrough = moved.passthrough;
  }
  const std::vector<ValueId> outputs = node(id).outputs, results = mapped(body->outputs_);
  remove_node(id);
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    if (outputs[slot] == kNoValue || replace_uses(outputs[slot], results[slot])) continue;
    add_node({.op_type = "Identity", .inputs = {results[slot]}, .outputs = {outputs[slot]}});
  }
}

}  // namespace hone::model
