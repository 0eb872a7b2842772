// Graph: questions about a graph, and its topological order.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/graph.h"

namespace hone::model {

const Attribute* Node::attribute(std::string_view key) const {
  for (const auto& [name, value] : attributes)
    if (name == key) return &value;
  return nullptr;
}

int64_t Node::attribute_int(std::string_view key, int64_t fallback) const {
  const auto* value = attribute(key);
  const auto* number = value != nullptr ? std::get_if<int64_t>(value) : nullptr;
  return number != nullptr ? *number : fallback;
}

float Node::attribute_float(std::string_view key, float fallback) const {
  const auto* value = attribute(key);
  const auto* number = value != nullptr ? std::get_if<float>(value) : nullptr;
  return number != nullptr ? *number : fallback;
}

std::string Node::attribute_string(std::string_view key, std::string fallback) const {
  const auto* value = attribute(key);
  const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  return text != nullptr ? *text : fallback;
}

std::optional<std::vector<int64_t>> Node::attribute_ints(std::string_view key) const {
  const auto* value = attribute(key);
  const auto* list = value != nullptr ? std::get_if<std::vector<int64_t>>(value) : nullptr;
  return list != nullptr ? std::optional(*list) : std::nullopt;
}

void Node::set_attribute(std::string_view key, Attribute value) {
  for (auto& [name, old] : attributes) {
    if (name != key) continue;
    old = std::move(value);
    return;
  }
  attributes.emplace_back(key, std::move(value));
}

void Node::remove_attribute(std::string_view key) {
  std::erase_if(attributes, [key](const auto& entry) { return entry.first == key; });
}

std::string Node::label(const Graph& graph) const {
  if (!name.empty()) return name;
  for (const ValueId id : outputs)
    if (id != kNoValue) return op_type + " -> " + graph.value(id).name;
  return op_type;
}

bool Graph::alive(NodeId id) const {
  return id >= 0 && static_cast<size_t>(id) < nodes_.size() && node_dead_[static_cast<size_t>(id)] == 0;
}

bool Graph::value_alive(ValueId id) const {
  return id >= 0 && static_cast<size_t>(id) < values_.size() && value_dead_[static_cast<size_t>(id)] == 0;
}

const Node& Graph::node(NodeId id) const {
  HONE_CHECK(alive(id), "{}", id);
  return nodes_[static_cast<size_t>(id)];
}

const Value& Graph::value(ValueId id) const {
  HONE_CHECK(value_alive(id), "{}", id);
  return values_[static_cast<size_t>(id)];
}

ValueId Graph::find_value(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? kNoValue : found->second;
}

int64_t Graph::opset(std::string_view domain) const {
  const auto found = opsets_->find(domain == "ai.onnx" ? "" : domain);
  return found == opsets_->end() ? 0 : found->second;
}

const Node* Graph::producer(ValueId id) const {
  if (id == kNoValue) return nullptr;
  const NodeId node = value(id).producer;
  return node == kNoNode ? nullptr : &nodes_[static_cast<size_t>(node)];
}

namespace {

// The value of a Constant node that is not written as a tensor. nullptr for the sparse and unknown forms.
std::shared_ptr<const Tensor> made_constant(const Node& node) {
  const auto made = [](Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); };
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* tensor = std::get_if<Tensor>(&attribute)) return made(*tensor);
    if (const auto* number = std::get_if<int64_t>(&attribute)) return made(Tensor::scalar<int64_t>(*number));
    if (const auto* number = std::get_if<float>(&attribute)) return made(Tensor::scalar<float>(*number));
    if (const auto* text = std::get_if<std::string>(&attribute))
      return made(Tensor(std::vector<int64_t>{}, std::vector<std::string>{*text}));
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute))
      return made(Tensor::of<int64_t>({static_cast<int64_t>(list->size())}, *list));
    if (const auto* list = std::get_if<std::vector<float>>(&attribute))
      return made(Tensor::of<float>({static_cast<int64_t>(list->size())}, *list));
    if (const auto* list = std::get_if<std::vector<std::string>>(&attribute))
      return made(Tensor({static_cast<int64_t>(list->size())}, *list));
  }
  return nullptr;
}

}  // namespace

const Tensor* Graph::constant(ValueId id) const {
  while (id != kNoValue) {
    const Value& v = value(id);
    if (v.initializer) return v.is_input ? nullptr : &*v.initializer;
    if (v.producer == kNoNode) return nullptr;
    const Node& made_by = nodes_[static_cast<size_t>(v.producer)];
    if (made_by.is("Identity")) {
      id = made_by.input(0);
      continue;
    }
    if (!made_by.is("Constant")) return nullptr;
    if (const auto* attribute = made_by.attribute("value")) return std::get_if<Tensor>(attribute);
    auto& made = made_constants_[v.producer];
    if (!made) made = made_constant(made_by);
    return made.get();
  }
  return nullptr;
}

NodeId Graph::only_user(ValueId id) const {
  const Value& v = value(id);
  if (v.is_output || v.uses.empty()) return kNoNode;
  const NodeId first = v.uses.front().node;
  for (const Use& use : v.uses)
    if (use.slot == kCaptured || use.node != first) return kNoNode;
  return first;
}

bool Graph::used_outside(ValueId id, const std::vector<NodeId>& inside) const {
  const Value& v = value(id);
  return v.is_output || std::ranges::any_of(v.uses, [&](const Use& use) {
           return std::ranges::find(inside, use.node) == inside.end();
         });
}

std::vector<std::string> Graph::outer_names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < values_.size(); ++i)
    if (value_dead_[i] == 0 && values_[i].is_outer() && (!values_[i].uses.empty() || values_[i].is_output))
      names.push_back(values_[i].name);
  return names;
}

const std::vector<ValueId>& Graph::captures(NodeId id) const {
  static const std::vector<ValueId> kNone;
  const auto found = captures_.find(id);
  return found == captures_.end() ? kNone : found->second;
}

std::vector<std::shared_ptr<Graph>> Graph::subgraphs(NodeId id) const {
  std::vector<std::shared_ptr<Graph>> graphs;
  for (const auto& [name, attribute] : node(id).attributes)
    if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute)) graphs.push_back(*graph);
  return graphs;
}

std::vector<NodeId> Graph::sources(NodeId id) const {
  std::vector<NodeId> out;
  const auto add = [&](ValueId value) {
    if (value != kNoValue && values_[static_cast<size_t>(value)].producer != kNoNode)
      out.push_back(values_[static_cast<size_t>(value)].producer);
  };
  for (const ValueId value : nodes_[static_cast<size_t>(id)].inputs) add(value);
  for (const ValueId value : captures(id)) add(value);
  return out;
}

// Depth first over the sources of each node in id order: a file that is in topological order keeps its order, and a
// new node comes right before its first user. Iterative, because a chain can be as long as the graph.
NodeId Graph::sort() const {
  enum : char { kUnseen, kOpen, kDone };
  std::vector<char> state(nodes_.size(), kUnseen);
  struct Frame {
    NodeId node;
    std::vector<NodeId> sources;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  order_.clear();
  order_.reserve(live_nodes_);
  const auto open = [&](NodeId id) {
    state[static_cast<size_t>(id)] = kOpen;
    stack.push_back({id, sources(id), 0});
  };
  for (size_t root = 0; root < nodes_.size(); ++root) {
    if (node_dead_[root] != 0 || state[root] != kUnseen) continue;
    open(static_cast<NodeId>(root));
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.sources.size()) {
        state[static_cast<size_t>(frame.node)] = kDone;
        order_.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      const NodeId source = frame.sources[frame.next++];
      if (state[static_cast<size_t>(source)] == kOpen) return source;
      if (state[static_cast<size_t>(source)] == kUnseen) open(source);
    }
  }
  order_stale_ = false;
  return kNoNode;
}

const std::vector<NodeId>& Graph::order() const {
  if (order_stale_) {
    const NodeId in_cycle = sort();
    HONE_CHECK(in_cycle == kNoNode, "{}", nodes_[static_cast<size_t>(in_cycle)].label(*this));
  }
  return order_;
}

}  // namespace hone::model
