// SPDX-License-Identifier: Apache-2.0
#include "diagnose/shape_arithmetic.h"

#include <algorithm>
#include <set>

#include "diagnose/walk.h"

namespace hone::diagnose {

std::vector<NodeRef> shape_arithmetic(const Facts& facts) {
  std::set<NodeRef> known;  // nodes whose outputs follow from shapes
  std::vector<NodeRef> ran;
  for (const NodeRef& ref : facts.index.nodes()) {
    const model::Node& node = ref.node();
    bool follows = is_any(ref, {"Shape", "Size"});
    if (!follows && !node.inputs.empty() && ref.graph->subgraphs(ref.id).empty() &&
        !node.op_type.starts_with("Random")) {
      bool any = false, all = true;
      for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot] == model::kNoValue || constant_input(ref, slot) != nullptr) continue;
        const NodeRef source = producer(ref, slot);
        const bool from_shape = source && known.contains(source);
        any = any || from_shape;
        all = all && from_shape;
      }
      follows = any && all;
    }
    if (!follows) continue;
    known.insert(ref);
    if (facts.runs_alone(ref)) ran.push_back(ref);
  }
  return ran;
}

double shape_arithmetic_ms(const Facts& facts, const std::vector<NodeRef>& nodes) {
  double all = 0, calls = 0;
  for (const Row& row : facts.rows) all += row.calls;
  for (const NodeRef& node : nodes)
    for (size_t row : facts.own_rows.at(node)) calls += facts.rows[row].calls;
  const double outside = all > 0 ? facts.diagnosis.outside_ms * calls / all : 0;
  return facts.own_ms(nodes) + outside;
}

std::vector<std::string> free_inputs(const model::Graph& graph) {
  std::vector<std::string> names;
  for (model::ValueId id : graph.inputs()) {
    const model::Value& value = graph.value(id);
    if (!value.initializer && value.type.kind == model::TypeKind::kTensor && !value.type.dims())
      names.push_back(value.name);
  }
  return names;
}

}  // namespace hone::diagnose
