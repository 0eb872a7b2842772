// A graph as short lines, for tests: one node a line, constants where they are read, and no name that a rewrite makes
// up.
//
//   a = Conv<pads=[1,1,1,1]>(x, float32[8,3,3,3])
//   y = Relu(a)
//
// Graph inputs and outputs keep their names; other values are %1, %2, ... in order; constants up to 8 elements are
// written out, int64{0,-1}, and float32 without its type, {0.5}. Attributes are sorted. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>

#include "model/graph.h"

namespace hone::test {

inline std::string tensor_text(const model::Tensor& tensor) {
  const std::string type = model::dtype_name(tensor.dtype());
  const auto numbers = tensor.dtype() == model::DType::kString ? Result<std::vector<double>>(std::vector<double>{})
                                                               : tensor.to_doubles();
  if (!numbers || tensor.count() > 8 || tensor.dtype() == model::DType::kString)
    return fmt::format("{}[{}]", type, fmt::join(tensor.dims(), ","));
  const std::string prefix = tensor.dtype() == model::DType::kFloat ? "" : type;
  const std::string dims = tensor.rank() > 1 ? fmt::format("[{}]", fmt::join(tensor.dims(), ",")) : "";
  std::string list;
  for (const double number : *numbers) list += fmt::format("{}{:.6g}", list.empty() ? "" : ",", number);
  return tensor.rank() == 0 ? fmt::format("{}{}", prefix, prefix.empty() ? list : "(" + list + ")")
                            : fmt::format("{}{}{{{}}}", prefix, dims, list);
}

class GraphLines {
 public:
  explicit GraphLines(const model::Graph& graph, std::string indent = "") : graph_(graph), indent_(std::move(indent)) {}

  std::string text() {
    std::string lines;
    for (const model::NodeId id : graph_.order()) {
      const model::Node& node = graph_.node(id);
      if (node.is("Constant") && graph_.constant(node.output(0)) != nullptr) continue;
      std::string outputs, inputs;
      for (const model::ValueId value : node.inputs) inputs += (inputs.empty() ? "" : ", ") + name(value);
      for (const model::ValueId value : node.outputs) outputs += (outputs.empty() ? "" : ", ") + name(value);
      lines += fmt::format("{}{} = {}{}{}({})\n", indent_, outputs, node.domain.empty() ? "" : node.domain + ".",
                           node.op_type, attributes(node), inputs);
    }
    return lines;
  }

 private:
  std::string name(model::ValueId id) {
    if (id == model::kNoValue) return "-";
    const model::Value& value = graph_.value(id);
    if (value.is_input || value.is_output || value.is_outer()) return value.name;
    if (value.initializer) return tensor_text(*value.initializer);
    const model::Node* producer = graph_.producer(id);
    if (producer != nullptr && producer->is("Constant") && graph_.constant(id) != nullptr)
      return "Constant " + tensor_text(*graph_.constant(id));
    const auto [known, fresh] = names_.emplace(id, fmt::format("%{}", names_.size() + 1));
    return known->second;
  }

  std::string attributes(const model::Node& node) {
    std::map<std::string, std::string> sorted;
    for (const auto& [key, value] : node.attributes) sorted[key] = attribute_text(value);
    std::string list;
    for (const auto& [key, text] : sorted) list += fmt::format("{}{}={}", list.empty() ? "" : ", ", key, text);
    return list.empty() ? "" : "<" + list + ">";
  }

  std::string attribute_text(const model::Attribute& attribute) const {
    return std::visit(
        [&](const auto& value) -> std::string {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, model::Tensor>) {
            return tensor_text(value);
          } else if constexpr (std::is_same_v<T, std::shared_ptr<model::Graph>>) {
            return "{\n" + GraphLines(*value, indent_ + "  ").text() + indent_ + "}";
          } else if constexpr (std::is_same_v<T, model::OpaqueAttribute>) {
            return "?";
          } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            return fmt::format("[{}]", fmt::join(value, ","));
          } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<float>>) {
            return fmt::format("[{:.6g}]", fmt::join(std::vector<double>(value.begin(), value.end()), ","));
          } else if constexpr (std::is_same_v<T, float>) {
            return fmt::format("{:.6g}", value);
          } else {
            return fmt::format("{}", value);
          }
        },
        attribute);
  }

  const model::Graph& graph_;
  std::string indent_;
  std::map<model::ValueId, std::string> names_;
};

inline std::string graph_lines(const model::Graph& graph) { return GraphLines(graph).text(); }

}  // namespace hone::test
