// x / sqrt(mean(x²) + eps) · scale    ==>   RMSNormalization(x, scale)
//
// Over the last axis; the square may be Pow or Mul, the division a Div, a Reciprocal or a power. The scale may be a
// sum computed in the graph (Gemma's 1 + weight). Needs opset 23; the driver raises the opset when it may.
//
// Safe: the same sum of squares in another order (1e-6 relative).
// Pays: ONNX Runtime 1.32 does the forms with Pow and Div by itself, but leaves those with x·x or Reciprocal: every
// export of torch's newer exporter at opset 18 (tests/data/models). Its kernel against the seven nodes, one thread of
// an Intel Xeon (Sapphire Rapids): 1.9x at 16x384, 3.9x at 128x768, 4.2x at 128x3072. SPDX-License-Identifier:
// Apache-2.0
#include <fmt/format.h>

#include "change/rewrite/norm.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoValue;
using model::NodeId;
using model::ValueId;

constexpr int64_t kRmsNormOpset = 23;

Pattern rmsnorm() {
  const Pattern x = any("x");
  const Pattern mean = op("ReduceMean", {maybe_cast(square(x))}).more_inputs().where_node(last_axis_mean).anchor();
  return over_root(x, mean);
}

NormSite find_rmsnorm(const Graph& graph, NodeId root) {
  static const Pattern kPattern = rmsnorm();
  NormSite site;
  const Attempt attempt = match_pattern(graph, kPattern, root);
  if (!attempt.matched) {
    site.why = attempt.why;
    return site;
  }
  site.x = attempt.found.value("x");
  // Under a LayerNormalization x is x - mean; the other rule is for that.
  const model::Node* source = graph.producer(site.x);
  if (source != nullptr && source->is("Sub")) {
    const model::Node* mean = source->input(1) == kNoValue ? nullptr : graph.producer(source->input(1));
    if (mean != nullptr && mean->is("ReduceMean") && mean->input(0) == source->input(0)) return NormSite{};
  }
  site.epsilon = attempt.found.number("epsilon");
  site.result = graph.node(root).output(0);
  site.nodes = attempt.nodes;
  site.width = last_dim(graph, site.x);
  take_scale(graph, site);
  const model::DType dtype = dtype_of_value(graph, site.x);
  if (dtype != model::DType::kFloat) {
    site.why = fmt::format("{} is {}, only float32 is fused", describe_value(graph, site.x), model::dtype_name(dtype));
  } else if (site.scale == kNoValue && site.width < 1) {
    site.why = fmt::format("there is no scale, and the last dim of {} is not known", describe_value(graph, site.x));
  } else if (graph.opset() < kRmsNormOpset) {
    site.why = fmt::format("RMSNormalization needs opset {}, the model has {}", kRmsNormOpset, graph.opset());
  }
  return site;
}

class FuseRmsnorm final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fuse-rmsnorm",
                                "x / sqrt(mean(x^2) + eps) * scale",
                                "RMSNormalization(x, scale)",
                                "mean over the last axis; float32; opset 23",
                                "unfused_norm",
                                accuracy::Class::kReassociating,
                                false,
                                {},
                                kRmsNormOpset,
                                "ReduceMean"};
    return kInfo;
  }
  Match match(const Graph& graph, NodeId root) const override {
    const model::Node& node = graph.node(root);
    if (!node.is("Div") && !node.is("Mul")) return Match::no();
    NormSite site = find_rmsnorm(graph, root);
    if (!site.why.empty()) return Match::refused(std::move(site.why));
    if (site.x == kNoValue) return Match::no();
    Match match = Match::yes();
    match.nodes = {root};
    return match;
  }
  void rewrite(Graph& graph, const Match& match) const override {
    const NormSite site = find_rmsnorm(graph, match.nodes[0]);
    const ValueId out = graph.add_value(graph.value(site.result).name + "_norm", graph.value(site.result).type);
    graph.add_node({.op_type = "RMSNormalization",
                    .inputs = {site.x, scale_value(graph, site)},
                    .outputs = {out},
                    .attributes = {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(site.epsilon)}}});
    replace_match(graph, site.nodes, site.result, out);
  }
};

}  // namespace

const Rule& fuse_rmsnorm() {
  static const FuseRmsnorm kRule;
  return kRule;
}

}  // namespace hone::change::rule
