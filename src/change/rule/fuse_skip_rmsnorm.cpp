// RMSNormalization(x + skip)    ==>   SkipSimplifiedLayerNormalization(x, skip)
//
// The sum is output 3 when something else reads it too (the residual stream of pre-norm transformers).
//
// Safe: the same sum and the same normalization; the order of the sums differs (1e-6 relative).
// Pays: not on ONNX Runtime 1.32, so it is applied only when named: its kernel is 1.2-1.5x slower than Add and
// the normalization apart at 16x384 to 512x768 on one thread of an Intel
// Xeon (Sapphire Rapids).
// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/skip_norm.h"

namespace hone::change::rule {
namespace {

class FuseSkipRmsnorm final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{
        "fuse-skip-rmsnorm",
        "RMSNormalization(x + skip)",
        "SkipSimplifiedLayerNormalization(x, skip), with the sum as output 3",
        "same shapes of rank 2 or 3; float32",
        "unfused_norm",
        accuracy::Class::kReassociating,
        false,
        "onnxruntime",
        0,
        {},
        "ONNX Runtime's kernel is 1.2 to 1.5 times slower than Add and the normalization apart"};
    return kInfo;
  }
  Match match(const model::Graph& graph, model::NodeId root) const override {
    const model::Node& node = graph.node(root);
    return node.is("RMSNormalization") || node.is("SimplifiedLayerNormalization") ? match_skip_norm(graph, root)
                                                                                  : Match::no();
  }
  void rewrite(model::Graph& graph, const Match& match) const override {
    replace_skip_norm(graph, match, "SkipSimplifiedLayerNormalization");
  }
};

}  // namespace

const Rule& fuse_skip_rmsnorm() {
  static const FuseSkipRmsnorm kRule;
  return kRule;
}

}  // namespace hone::change::rule
