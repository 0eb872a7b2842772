// SPDX-License-Identifier: Apache-2.0
// Names to nodes (mapping.h).
#include "diagnose/mapping.h"

#include <algorithm>
#include <cctype>

#include "diagnose/cost.h"

namespace hone::diagnose {

namespace {

// Graphs are handed out by shared pointers the attributes keep, so plain pointers stay good as long as the main graph.
void add_nodes(const model::Graph& graph, std::vector<NodeRef>& out) {
  for (model::NodeId id : graph.order()) {
    out.push_back({&graph, id});
    for (const auto& inner : graph.subgraphs(id)) add_nodes(*inner, out);
  }
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The name without the last thing an optimizer hung on it; empty when there is none.
std::string_view stripped(std::string_view name) {
  constexpr std::string_view kNchwc = "_nchwc", kToken = "_token_", kFusion = "Fusion", kFused = "fused ";
  if (name.ends_with(kNchwc)) return name.substr(0, name.size() - kNchwc.size());
  if (name.starts_with(kFused)) return name.substr(kFused.size());
  const size_t token = name.rfind(kToken);
  if (token != std::string_view::npos && is_digits(name.substr(token + kToken.size()))) return name.substr(0, token);
  const std::string_view open = name.ends_with('/') ? name.substr(0, name.size() - 1) : name;
  const size_t slash = open.rfind('/');
  if (slash != std::string_view::npos && open.find(kFusion, slash) != std::string_view::npos)
    return open.substr(0, slash);
  return {};
}

bool has_type(const NodeRef& ref, std::string_view onnx) { return onnx_type(ref.node().op_type) == onnx; }

// A fused kernel does not reach over another product, convolution, attention or recurrent layer.
bool is_heavy(const NodeRef& ref) {
  const OperatorClass klass = class_of(ref.node().op_type);
  return klass == OperatorClass::kMatMul || klass == OperatorClass::kConv || klass == OperatorClass::kAttention ||
         klass == OperatorClass::kRecurrent;
}

// The nearest producer of the type, breadth first, itself not included. The depth is an own choice: Conv, BatchNorm,
// Add, activation and the decomposed forms of activations are within it.
NodeRef upstream(const NodeRef& from, std::string_view onnx, std::vector<NodeRef>& way) {
  constexpr int kDepth = 8;
  std::vector<NodeRef> layer{from}, seen{from};
  for (int depth = 0; depth < kDepth && !layer.empty(); ++depth) {
    std::vector<NodeRef> next;
    for (const NodeRef& ref : layer)
      for (model::ValueId input : ref.node().inputs) {
        if (input == model::kNoValue) continue;
        const NodeRef producer{ref.graph, ref.graph->value(input).producer};
        if (producer.id == model::kNoNode || std::find(seen.begin(), seen.end(), producer) != seen.end()) continue;
        seen.push_back(producer);
        if (has_type(producer, onnx)) {
          way.push_back(producer);
          return producer;
        }
        if (!is_heavy(producer)) next.push_back(producer);
      }
    layer = std::move(next);
  }
  return {};
}

}  // namespace

std::vector<NodeRef> all_nodes(const model::Graph& graph) {
  std::vector<NodeRef> nodes;
  add_nodes(graph, nodes);
  return nodes;
}

NodeIndex::NodeIndex(const model::Graph& graph) : nodes_(all_nodes(graph)) {
  std::unordered_map<const model::Graph*, std::vector<NodeRef>> of_graph;
  for (const NodeRef& ref : nodes_) {
    const model::Node& node = ref.node();
    if (!node.name.empty()) by_name_[node.name].push_back(ref);
    for (model::ValueId output : node.outputs)
      if (output != model::kNoValue) by_output_.try_emplace(ref.graph->value(output).name, ref);
    of_graph[ref.graph].push_back(ref);
  }
  for (auto& [inner, refs] : of_graph) {
    std::sort(refs.begin(), refs.end());  // by id: the order in the file
    int64_t position = 0;
    for (const NodeRef& ref : refs) {
      if (ref.node().is("Constant")) continue;
      if (ref.node().name.empty()) by_position_[ref.node().op_type + "_" + std::to_string(position)].push_back(ref);
      ++position;
    }
  }
}

NodeRef NodeIndex::find_exact(std::string_view name, std::string_view onnx) const {
  auto best = [&](const std::vector<NodeRef>& refs) {
    for (const NodeRef& ref : refs)
      if (has_type(ref, onnx)) return ref;
    return refs.front();
  };
  if (const auto found = by_name_.find(name); found != by_name_.end()) return best(found->second);
  if (const auto found = by_output_.find(name); found != by_output_.end()) return found->second;
  if (const auto found = by_position_.find(std::string(name)); found != by_position_.end()) return best(found->second);
  return {};
}

NodeRef NodeIndex::find_name(std::string_view name, std::string_view onnx) const {
  for (; !name.empty(); name = stripped(name))
    if (const NodeRef ref = find_exact(name, onnx)) return ref;
  return {};
}

Mapped NodeIndex::find(std::string_view names, std::string_view type) const {
  Mapped mapped;
  const std::string_view onnx = onnx_type(type);
  while (!names.empty()) {
    const size_t end = names.find('\n');
    if (const NodeRef ref = find_name(names.substr(0, end), onnx)) mapped.nodes.push_back(ref);
    names = end == std::string_view::npos ? std::string_view{} : names.substr(end + 1);
  }
  for (const NodeRef& ref : mapped.nodes)
    if (!mapped.root && has_type(ref, onnx)) mapped.root = ref;
  for (size_t i = 0; !mapped.root && i < mapped.nodes.size(); ++i)
    if (const NodeRef root = upstream(NodeRef(mapped.nodes[i]), onnx, mapped.nodes)) mapped.root = root;
  return mapped;
}

}  // namespace hone::diagnose
