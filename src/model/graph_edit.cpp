// Graph: edits. Every edit keeps uses, producers, captures and names right, so that rules need not.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "model/graph.h"

namespace hone::model {

namespace {

Type type_of(const Tensor& tensor) {
  Shape shape;
  for (const int64_t dim : tensor.dims()) shape.push_back({dim, {}});
  return Type::tensor(tensor.dtype(), std::move(shape));
}

}  // namespace

std::string Graph::make_unique(std::string_view hint, const std::unordered_set<std::string>& taken) const {
  std::string name(hint.empty() ? "value" : hint);
  if (!taken.contains(name)) return name;
  int& next = names_->next[name];
  std::string candidate;
  do candidate = fmt::format("{}_{}", name, ++next);
  while (taken.contains(candidate));
  return candidate;
}

std::string Graph::unique_name(std::string_view hint) const { return make_unique(hint, names_->values); }

ValueId Graph::new_value(std::string name) {
  const auto id = static_cast<ValueId>(values_.size());
  names_->values.insert(name);
  by_name_[name] = id;
  values_.emplace_back().name = std::move(name);
  value_dead_.push_back(0);
  return id;
}

ValueId Graph::add_value(std::string_view hint, Type type) {
  const ValueId id = new_value(unique_name(hint));
  values_.back().type = std::move(type);
  return id;
}

ValueId Graph::add_constant(std::string_view hint, Tensor tensor) {
  const ValueId id = add_value(hint, type_of(tensor));
  values_.back().initializer = std::move(tensor);
  return id;
}

void Graph::set_constant(ValueId id, Tensor tensor) {
  HONE_CHECK(value(id).initializer.has_value(), "{}", value(id).name);
  Value& v = values_[static_cast<size_t>(id)];
  v.type = type_of(tensor);
  v.initializer = std::move(tensor);
}

void Graph::set_type(ValueId id, Type type) {
  HONE_CHECK(value_alive(id), "{}", id);
  values_[static_cast<size_t>(id)].type = std::move(type);
}

void Graph::add_output(ValueId id) {
  HONE_CHECK(value_alive(id), "{}", id);
  Value& v = values_[static_cast<size_t>(id)];
  if (v.is_output) return;
  v.is_output = true;
  outputs_.push_back(id);
}

void Graph::add_use(ValueId value, Use use) {
  if (value == kNoValue) return;
  HONE_CHECK(value_alive(value), "{}", value);
  values_[static_cast<size_t>(value)].uses.push_back(use);
}

void Graph::drop_use(ValueId value, Use use) {
  if (value == kNoValue) return;
  auto& uses = values_[static_cast<size_t>(value)].uses;
  const auto found = std::ranges::find(uses, use);
  HONE_CHECK(found != uses.end(), "{}", values_[static_cast<size_t>(value)].name);
  *found = uses.back();
  uses.pop_back();
}

void Graph::register_captures(NodeId id) {
  std::vector<ValueId> captured;
  for (const auto& graph : subgraphs(id)) {
    for (const std::string& name : graph->outer_names()) {
      ValueId outer = find_value(name);
      if (outer == kNoValue) outer = new_value(name);  // read from further outside
      if (std::ranges::find(captured, outer) != captured.end()) continue;
      captured.push_back(outer);
      add_use(outer, {id, kCaptured});
    }
  }
  if (!captured.empty()) captures_[id] = std::move(captured);
}

void Graph::drop_captures(NodeId id) {
  for (const ValueId value : captures(id)) drop_use(value, {id, kCaptured});
  captures_.erase(id);
}

NodeId Graph::add_node(NodeSpec spec) {
  const auto id = static_cast<NodeId>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node_dead_.push_back(0);
  ++live_nodes_;
  order_stale_ = true;
  node.name = make_unique(spec.name.empty() ? spec.op_type : spec.name, names_->nodes);
  names_->nodes.insert(node.name);
  node.op_type = std::move(spec.op_type);
  node.domain = spec.domain == "ai.onnx" ? "" : std::move(spec.domain);
  node.inputs = std::move(spec.inputs);
  node.outputs = std::move(spec.outputs);
  node.attributes = std::move(spec.attributes);
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) add_use(node.inputs[slot], {id, static_cast<int>(slot)});
  for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
    if (node.outputs[slot] == kNoValue) continue;
    const Value& checked = value(node.outputs[slot]);
    HONE_CHECK(checked.producer == kNoNode && !checked.is_input && !checked.initializer, "{}", checked.name);
    Value& v = values_[static_cast<size_t>(node.outputs[slot])];
    v.producer = id;
    v.producer_slot = static_cast<int>(slot);
  }
  register_captures(id);
  return id;
}

void Graph::remove_node(NodeId id) {
  const Node& gone = node(id);
  for (size_t slot = 0; slot < gone.inputs.size(); ++slot) drop_use(gone.inputs[slot], {id, static_cast<int>(slot)});
  drop_captures(id);
  for (const ValueId output : gone.outputs)
    if (output != kNoValue) values_[static_cast<size_t>(output)].producer = kNoNode;
  made_constants_.erase(id);
  nodes_[static_cast<size_t>(id)] = {};
  node_dead_[static_cast<size_t>(id)] = 1;
  --live_nodes_;
  order_stale_ = true;
}

void Graph::set_input(NodeId id, size_t slot, ValueId value) {
  HONE_CHECK(alive(id), "{}", id);
  Node& node = nodes_[static_cast<size_t>(id)];
  if (slot >= node.inputs.size()) node.inputs.resize(slot + 1, kNoValue);
  drop_use(node.inputs[slot], {id, static_cast<int>(slot)});
  node.inputs[slot] = value;
  add_use(value, {id, static_cast<int>(slot)});
  order_stale_ = true;
}

void Graph::set_attribute(NodeId id, std::string_view key, Attribute value) {
  HONE_CHECK(alive(id), "{}", id);
  drop_captures(id);
  nodes_[static_cast<size_t>(id)].set_attribute(key, std::move(value));
  register_captures(id);
  made_constants_.erase(id);
  order_stale_ = true;
}

void Graph::remove_attribute(NodeId id, std::string_view key) {
  HONE_CHECK(alive(id), "{}", id);
  drop_captures(id);
  nodes_[static_cast<size_t>(id)].remove_attribute(key);
  register_captures(id);
  made_constants_.erase(id);
  order_stale_ = true;
}

void Graph::set_op(NodeId id, std::string_view op_type, std::string_view domain) {
  HONE_CHECK(alive(id), "{}", id);
  nodes_[static_cast<size_t>(id)].op_type = op_type;
  nodes_[static_cast<size_t>(id)].domain = domain == "ai.onnx" ? "" : domain;
}

void Graph::rename(ValueId id, const std::string& name) {
  Value& v = values_[static_cast<size_t>(id)];
  const std::string old = std::exchange(v.name, name);
  const auto found = by_name_.find(old);
  if (found != by_name_.end() && found->second == id) by_name_.erase(found);
  by_name_[name] = id;
  names_->values.insert(name);
  for (const Use& use : v.uses) {
    if (use.slot != kCaptured) continue;
    for (const auto& graph : subgraphs(use.node)) graph->replace_outer(old, name);
  }
}

void Graph::replace_outer(const std::string& from, const std::string& to) {
  const ValueId old = find_value(from);
  if (old == kNoValue || !values_[static_cast<size_t>(old)].is_outer()) return;
  const ValueId taken = find_value(to);
  if (taken == kNoValue) {
    rename(old, to);
  } else if (values_[static_cast<size_t>(taken)].is_outer()) {
    if (std::exchange(values_[static_cast<size_t>(old)].is_output, false)) {
      std::ranges::replace(outputs_, old, taken);
      values_[static_cast<size_t>(taken)].is_output = true;
    }
    replace_uses(old, taken);
  } else {
    // A value in here hides the outer one. Names in subgraphs are free (inputs and outputs go by position): move away.
    rename(taken, unique_name(to));
    rename(old, to);
  }
}

bool Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return true;
  const Value& old = value(from);
  const Value& fresh = value(to);
  if (old.is_output) {
    if (fresh.is_input || fresh.initializer || fresh.is_output || fresh.is_sparse || fresh.producer == kNoNode)
      return false;
  }
  const std::vector<Use> uses = old.uses;
  for (const Use& use : uses) {
    if (use.node == fresh.producer) continue;
    if (use.slot != kCaptured) {
      set_input(use.node, static_cast<size_t>(use.slot), to);
      continue;
    }
    for (const auto& graph : subgraphs(use.node)) graph->replace_outer(old.name, fresh.name);
    drop_captures(use.node);
    register_captures(use.node);
  }
  order_stale_ = true;
  if (!old.is_output) return true;
  const std::string name = old.name;
  rename(from, unique_name(name));
  rename(to, name);
  Value& leaves = values_[static_cast<size_t>(from)];
  Value& takes = values_[static_cast<size_t>(to)];
  leaves.is_output = false;
  takes.is_output = true;
  std::ranges::replace(outputs_, from, to);
  // What the file says of the output stays with the output.
  if (leaves.carried) {
    ValueCarried carried = takes.carried ? *takes.carried : ValueCarried{leaves.carried->type, {}, {}, {}, {}};
    carried.output = leaves.carried->output;
    takes.carried = std::make_shared<const ValueCarried>(std::move(carried));
  }
  if (takes.type.kind == TypeKind::kUnknown) takes.type = leaves.type;
  return true;
}

size_t Graph::remove_unused_values() {
  size_t removed = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (node_dead_[i] != 0) continue;
    const auto id = static_cast<NodeId>(i);
    const auto graphs = subgraphs(id);
    if (graphs.empty()) continue;
    for (const auto& graph : graphs) removed += graph->remove_unused_values();
    drop_captures(id);
    register_captures(id);
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& v = values_[i];
    if (value_dead_[i] != 0 || !v.uses.empty() || v.is_input || v.is_output || v.producer != kNoNode || v.is_sparse ||
        pinned_.contains(v.name))
      continue;
    const auto found = by_name_.find(v.name);
    if (found != by_name_.end() && found->second == static_cast<ValueId>(i)) by_name_.erase(found);
    std::erase(listed_inputs_, static_cast<ValueId>(i));
    v = {};
    value_dead_[i] = 1;
    ++removed;
  }
  return removed;
}

void Graph::import_opset(std::string_view domain, int64_t version) {
  opsets_->try_emplace(std::string(domain == "ai.onnx" ? "" : domain), version);
}

std::shared_ptr<Graph> Graph::clone() const {
  return clone_with(std::make_shared<Names>(*names_),
                    std::make_shared<std::map<std::string, int64_t, std::less<>>>(*opsets_));
}

std::shared_ptr<Graph> Graph::clone_with(std::shared_ptr<Names> names,
                                         std::shared_ptr<std::map<std::string, int64_t, std::less<>>> opsets) const {
  auto copy = std::make_shared<Graph>(*this);
  copy->names_ = names;
  copy->opsets_ = opsets;
  for (Node& node : copy->nodes_)
    for (auto& [name, attribute] : node.attributes)
      if (auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute)) *graph = (*graph)->clone_with(names, opsets);
  return copy;
}

}  // namespace hone::model
