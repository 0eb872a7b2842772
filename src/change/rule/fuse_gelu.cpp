// x·½·(1 + erf(x/√2))    ==>   Gelu(x)
//
// Any way of writing it: divided by √2 or multiplied by 0.7071, halved first, last or in the middle (polynomial.h).
// Opset 20 and newer: the ONNX operator; older: com.microsoft's.
//
// Safe: the same function, evaluated in one pass; differences are rounding (1e-6 relative).
// Pays: ONNX Runtime 1.32 does most forms by itself at load, but leaves the one that torch's newer exporter writes
// (multiplied by 0.7071, opset 18: in every model of tests/data/models). Its kernel against the five nodes, one thread
// of an Intel Xeon (Sapphire Rapids): 1.5x at 16x384, 1.7x at 128x768, 2.1-2.3x at 128x3072.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/rewrite/activation.h"

namespace hone::change::rule {
namespace {

const Formula kGelu = {.inner = {{{1, 0}, 0.70710678118654752}},
                       .outer = {{{1, 0}, 0.5}, {{1, 1}, 0.5}},
                       // √2 is written 1.4142 by hand-made exporters (fusion_catalog.md section 2: 1e-3).
                       .tolerance = 1e-3};

class FuseGelu final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{
        "fuse-gelu",          "x * 0.5 * (1 + Erf(x / sqrt(2)))", "Gelu(x)", "float32; nothing else reads the parts",
        "unfused_activation", accuracy::Class::kReassociating,    false};
    return kInfo;
  }
  Match match(const model::Graph& graph, model::NodeId root) const override {
    return graph.node(root).is("Erf") ? match_activation(graph, root, kGelu) : Match::no();
  }
  void rewrite(model::Graph& graph, const Match& match) const override {
    replace_activation(graph, match,
                       graph.opset() >= 20 ? model::NodeSpec{.op_type = "Gelu"}
                                           : model::NodeSpec{.op_type = "Gelu", .domain = "com.microsoft"});
  }
};

}  // namespace

const Rule& fuse_gelu() {
  static const FuseGelu kRule;
  return kRule;
}

}  // namespace hone::change::rule
