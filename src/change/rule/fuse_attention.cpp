// softmax(q·kᵀ·scale + mask)·v    ==>   Attention(q, k, v, mask)            [opset 23 and newer]
//                                 ==>   MultiHeadAttention(q, k, v, mask)   [older: com.microsoft]
//
// In whatever form it was exported (attention.h). With opset 23 the heads stay inside the operator: the Transposes and
// Reshapes of q, k, v and of the result go too, when that is all there is between the projections and the attention;
// grouped heads (k and v repeated) are taken unrepeated. The driver raises the opset when it may.
//
// Safe: the same function in another order of sums (3e-7). Masks are expanded to [.., S, T] where they are not proven
// to have that shape, and a row that is masked as a whole gives what it gave: the mean for finite masks, 0 where the
// export cleaned NaN.
// Pays: ONNX Runtime 1.32 never makes this operator from these nodes. Its kernels against what its optimizer leaves
// (FusedMatMul, Add, Softmax, MatMul, Transposes), one thread of an Intel Xeon (Sapphire Rapids):
//   Attention, heads inside:   1.3-1.8x at 16..128 tokens, 1.1-1.25x at 384..1024, 2.7x at 1 x 128..1024 (decoding),
//                              1.5x at 32 x 1500 (cross attention)
//   Attention, heads outside:  0.95-1.17x;   MultiHeadAttention: 0.96-1.15x
// Whole BERT- and GPT-like models of 2-3 layers: 1.02-1.06x at 16..384 tokens.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/rewrite/attention.h"
#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoValue;
using model::NodeId;
using model::ValueId;

constexpr int64_t kAttentionOpset = 23;

bool has_attention(const Graph& graph) { return graph.opset() >= kAttentionOpset; }

// [B,N,S,D], with a Transpose or a Reshape when only another layout is there.
ValueId heads_first(Graph& graph, const Heads& heads) {
  if (!heads.tokens_first && heads.reshaped.empty()) return heads.value;
  const std::string hint = graph.value(heads.value).name + "_heads";
  const ValueId out = graph.add_value(hint, model::Type::tensor(model::DType::kFloat, model::Shape(4)));
  if (heads.tokens_first) {
    graph.add_node({.op_type = "Transpose",
                    .inputs = {heads.value},
                    .outputs = {out},
                    .attributes = {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}});
  } else {
    const auto dims = graph.add_constant(hint + "_dims", model::Tensor::of<int64_t>({4}, heads.reshaped));
    graph.add_node({.op_type = "Reshape", .inputs = {heads.value, dims}, .outputs = {out}});
  }
  return out;
}

bool transposed_after(const Graph& graph, ValueId result) {
  for (const model::Use& use : graph.value(result).uses) {
    if (use.slot != 0) continue;
    const model::Node& node = graph.node(use.node);
    if (node.is("Transpose") && node.attribute_ints("perm") == std::vector<int64_t>{0, 2, 1, 3}) return true;
    if (node.is("Reshape") && transposed_after(graph, node.output(0))) return true;
  }
  return false;
}

class FuseAttention final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fuse-attention",
                                "MatMul(Softmax(MatMul(q, k^T) * scale + mask), v)",
                                "Attention(q, k, v, mask), or MultiHeadAttention below opset 23",
                                "same batch and heads; the mask widens nothing; nobody reads the weights; float32",
                                "unfused_attention",
                                accuracy::Class::kReassociating,
                                false,
                                {},
                                kAttentionOpset,
                                "Softmax"};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    if (!graph.node(root).is("Softmax")) return Match::no();
    Dims dims(graph);
    AttentionSite site = find_attention(graph, root, dims, has_attention(graph));
    if (site.found() && !has_attention(graph)) site.why = multi_head_obstacle(graph, dims, site);
    if (!site.why.empty()) return Match::refused(std::move(site.why));
    if (!site.found()) return Match::no();
    Match match = Match::yes();
    match.nodes = {root};
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    Dims dims(graph);
    const AttentionSite site = find_attention(graph, match.nodes[0], dims, has_attention(graph));
    if (has_attention(graph)) {
      onnx_attention(graph, dims, site);
    } else {
      multi_head_attention(graph, dims, site);
    }
  }

 private:
  // Heads merged into the last dim; its size must be known for ONNX's inference.
  static bool keys_and_values_merge(const Graph& graph, Dims& dims, const AttentionSite& site) {
    return site.head_size.is_number && site.value_size.is_number && can_merge_heads(graph, dims, site.key) &&
           can_merge_heads(graph, dims, site.value);
  }

  static std::string multi_head_obstacle(const Graph& graph, Dims& dims, const AttentionSite& site) {
    if (!site.head_size.is_number) return "the head size is not known";
    if (keys_and_values_merge(graph, dims, site) || same(site.head_size, site.value_size)) return {};
    return "MultiHeadAttention takes keys and values by heads only when their head sizes are equal";
  }

  static void onnx_attention(Graph& graph, Dims& dims, const AttentionSite& site) {
    const bool merge = can_merge_heads(graph, dims, site.query) && keys_and_values_merge(graph, dims, site) &&
                       transposed_after(graph, site.result);
    model::NodeSpec node{.op_type = "Attention", .attributes = {{"scale", static_cast<float>(site.scale)}}};
    if (merge) {
      const int64_t heads = site.heads.value, key_heads = heads / site.groups;
      node.inputs = {merged_heads(graph, dims, site.query, heads * site.head_size.value),
                     merged_heads(graph, dims, site.key, key_heads * site.head_size.value),
                     merged_heads(graph, dims, site.value, key_heads * site.value_size.value)};
      node.attributes.emplace_back("q_num_heads", heads);
      node.attributes.emplace_back("kv_num_heads", key_heads);
    } else {
      for (const Heads* heads : {&site.query, &site.key, &site.value})
        node.inputs.push_back(heads_first(graph, *heads));
    }
    const int axis = merge ? 1 : 2;
    const ValueId mask = joined_mask(graph, dims, site, {node.inputs[0], axis}, {node.inputs[1], axis}, /*clip=*/true);
    if (mask != kNoValue) node.inputs.push_back(mask);
    finish(graph, dims, site, std::move(node), merge);
  }

  static void multi_head_attention(Graph& graph, Dims& dims, const AttentionSite& site) {
    graph.import_opset("com.microsoft", 1);
    // The queries must be merged; a Transpose of heads-first ones is the same swap as the other way round.
    const Heads query = can_merge_heads(graph, dims, site.query)
                            ? site.query
                            : Heads{heads_first(graph, {heads_first(graph, site.query), true}), true};
    const bool merge = keys_and_values_merge(graph, dims, site);
    const int64_t heads = site.heads.value;
    const auto by_heads_or_merged = [&](const Heads& source, const KnownDim& size) {
      return merge ? merged_heads(graph, dims, source, heads * size.value) : heads_first(graph, source);
    };
    const ValueId key = by_heads_or_merged(site.key, site.head_size);
    const ValueId value = by_heads_or_merged(site.value, site.value_size);
    model::NodeSpec node{.op_type = "MultiHeadAttention",
                         .inputs = {merged_heads(graph, dims, query, heads * site.head_size.value), key, value},
                         .attributes = {{"num_heads", heads}, {"scale", static_cast<float>(site.scale)}},
                         .domain = "com.microsoft"};
    const ValueId mask =
        joined_mask(graph, dims, site, {node.inputs[0], 1}, {node.inputs[1], merge ? 1 : 2}, /*clip=*/false);
    if (mask != kNoValue) node.inputs.insert(node.inputs.end(), {kNoValue, kNoValue, mask});
    finish(graph, dims, site, std::move(node), /*merged=*/true);
  }

  static void finish(Graph& graph, Dims& dims, const AttentionSite& site, model::NodeSpec node, bool merged) {
    // MultiHeadAttention gives NaN for a row of -inf, as the Softmax did; the export's cleaning is kept.
    const bool clean = node.op_type == "MultiHeadAttention" && site.nan_to_zero && may_mask_with_infinity(graph, site);
    const std::string hint = graph.value(site.result).name + "_attention";
    ValueId out = graph.add_value(
        hint, merged ? model::Type::tensor(model::DType::kFloat, model::Shape(3)) : graph.value(site.result).type);
    node.outputs = {out};
    graph.add_node(std::move(node));
    if (clean) out = nan_to_zero(graph, out);
    if (merged) {
      replace_with_merged(graph, dims, site.result, out, site.heads.value);
      remove_unread(graph, site.nodes);
    } else {
      replace_match(graph, site.nodes, site.result, out);
    }
  }

  static ValueId nan_to_zero(Graph& graph, ValueId value) {
    const std::string hint = graph.value(value).name;
    const ValueId test = graph.add_value(hint + "_nan", model::Type::tensor(model::DType::kBool, model::Shape(3)));
    const ValueId out = graph.add_value(hint + "_clean", graph.value(value).type);
    const ValueId zero = graph.add_constant(hint + "_zero", model::Tensor::scalar(0.0F));
    graph.add_node({.op_type = "IsNaN", .inputs = {value}, .outputs = {test}});
    graph.add_node({.op_type = "Where", .inputs = {test, zero, value}, .outputs = {out}});
    return out;
  }
};

}  // namespace

const Rule& fuse_attention() {
  static const FuseAttention kRule;
  return kRule;
}

}  // namespace hone::change::rule
