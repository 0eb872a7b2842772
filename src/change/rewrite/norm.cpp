// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/norm.h"

#include <fmt/format.h>

namespace hone::change {

using model::Graph;
using model::kNoNode;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

std::string last_axis_mean(const Graph& graph, NodeId reduce) {
  const Node& node = graph.node(reduce);
  auto axes = node.attribute_ints("axes");
  if (!axes) axes = int_constants(graph, node.input(1));
  if (!axes || axes->size() != 1) return fmt::format("{} is not over one constant axis", describe(graph, reduce));
  const int rank = rank_of(graph, node.input(0));
  if (axes->front() != -1 && (rank < 0 || axes->front() != rank - 1))
    return fmt::format("{} is over axis {}, not the last", describe(graph, reduce), axes->front());
  if (node.attribute_int("keepdims", 1) == 0) return fmt::format("{} drops its axis", describe(graph, reduce));
  return {};
}

namespace {

// The other input of `reader`, when it is one number per element of the last axis.
ValueId per_element(const Graph& graph, NodeId reader, ValueId value, int64_t width) {
  const Node& node = graph.node(reader);
  const ValueId other = node.input(node.input(0) == value ? 1 : 0);
  if (node.input(0) == node.input(1) || other == kNoValue || width < 1) return kNoValue;
  const auto dims = static_dims(graph, other);
  if (!dims || dims->empty() || dims->back() != width) return kNoValue;
  int64_t count = 1;
  for (const int64_t dim : *dims) count *= dim;
  // A variable scale must be rank 1 already; a constant of shape [1,1,H] can be reshaped here.
  const bool usable = count == width && (dims->size() == 1 || graph.constant(other) != nullptr);
  const int rank = rank_of(graph, value);
  return usable && rank >= static_cast<int>(dims->size()) ? other : kNoValue;
}

ValueId taken(const Graph& graph, NormSite& site, std::string_view op) {
  // A Cast to the type it has already stays behind where identities were not removed before.
  ValueId value = site.result;
  std::vector<NodeId> passed;
  NodeId reader = graph.only_user(value);
  while (reader != kNoNode && graph.node(reader).is("Cast") &&
         dtype_of_value(graph, graph.node(reader).output(0)) == dtype_of_value(graph, value)) {
    passed.push_back(reader);
    value = graph.node(reader).output(0);
    reader = graph.only_user(value);
  }
  if (reader == kNoNode || !graph.node(reader).is(op)) return kNoValue;
  const ValueId other = per_element(graph, reader, value, site.width);
  if (other == kNoValue) return kNoValue;
  site.nodes.insert(site.nodes.begin(), passed.begin(), passed.end());
  site.nodes.insert(site.nodes.begin(), reader);
  site.result = graph.node(reader).output(0);
  return other;
}

ValueId rank_one(Graph& graph, ValueId value) {
  const model::Tensor* tensor = graph.constant(value);
  if (tensor == nullptr || tensor->rank() == 1) return value;
  return graph.add_constant(graph.value(value).name, tensor->reshaped({tensor->count()}));
}

}  // namespace

void take_scale(const Graph& graph, NormSite& site) { site.scale = taken(graph, site, "Mul"); }
void take_bias(const Graph& graph, NormSite& site) { site.bias = taken(graph, site, "Add"); }

ValueId scale_value(Graph& graph, const NormSite& site) {
  if (site.scale != kNoValue) return rank_one(graph, site.scale);
  HONE_CHECK(site.width > 0);
  return graph.add_constant(graph.value(site.result).name + "_scale",
                            model::Tensor::of<float>({site.width}, std::vector<float>(site.width, 1.0F)));
}

ValueId bias_value(Graph& graph, const NormSite& site) {
  return site.bias == kNoValue ? kNoValue : rank_one(graph, site.bias);
}

Pattern over_root(const Pattern& numerator, const Pattern& variance) {
  const Pattern sum = op("Add", {variance, scalar("epsilon")});
  const Pattern root = maybe_cast(one_of({op("Sqrt", {sum}), op("Pow", {sum, literal(0.5)})}));
  const Pattern inverse =
      maybe_cast(one_of({op("Reciprocal", {root}), op("Div", {literal(1), root}), op("Pow", {sum, literal(-0.5)})}));
  return one_of({op("Div", {numerator, root}), op("Mul", {numerator, inverse})});
}

}  // namespace hone::change
