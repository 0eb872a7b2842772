// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/activation.h"

#include <fmt/format.h>

namespace hone::change {

Match match_activation(const model::Graph& graph, model::NodeId function, const Formula& formula) {
  FormulaSite site = find_formula(graph, function, formula);
  if (site.result == model::kNoValue) return site.why.empty() ? Match::no() : Match::refused(std::move(site.why));
  const model::DType dtype = dtype_of_value(graph, site.x);
  if (dtype != model::DType::kFloat)
    return Match::refused(fmt::format("{} is {}, and ONNX Runtime has the fused kernel for float32 only",
                                      describe_value(graph, site.x), model::dtype_name(dtype)));
  Match match = Match::yes();
  match.nodes = std::move(site.nodes);
  match.values = {site.x, site.result};
  return match;
}

void replace_activation(model::Graph& graph, const Match& match, model::NodeSpec fused) {
  const model::ValueId x = match.values[0], result = match.values[1];
  if (!fused.domain.empty()) graph.import_opset(fused.domain, 1);
  fused.inputs = {x};
  fused.outputs = {graph.add_value(graph.value(result).name + "_gelu", graph.value(result).type)};
  const model::ValueId out = fused.outputs[0];
  graph.add_node(std::move(fused));
  replace_match(graph, match.nodes, result, out);
}

}  // namespace hone::change
