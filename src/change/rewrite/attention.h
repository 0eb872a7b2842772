// AttentionSite: softmax(q·kᵀ·scale + mask)·v, found from its Softmax in whatever form an exporter wrote it.
//
//   q [B,N,S,D] ──┐
//   k [B,K,T,D] ──┴ MatMul ─ scale ─ + mask ─ Softmax ─ (NaN to 0) ─ MatMul ── result [B,N,S,Dv]
//   v [B,K,T,Dv] ────────────────────────────────────────┘
//
// Scale: before or after the product, on one side or both (√s on each, torch's SDPA), as constants or computed from the
// head size. Mask: any number of additive masks, or Where(condition, score, -inf). k: transposed in one step or two, or
// through torch's three-dimensional detour. K < N: k and v repeated for groups of heads. Batch and heads folded into
// one dim for the products (torch.bmm: [B·N,S,D], with the mask added in four dims between two Reshapes).
//
// What is needed for a fused operator is proven with Dims: the same batch on both sides, the same number of heads, a
// mask that widens nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "change/rewrite/dims.h"
#include "change/rewrite/rule.h"
#include "model/graph.h"

namespace hone::change {

// Where a tensor of heads comes from: [B,N,S,D] as it is, or [B,S,N,D] whose Transpose it is.
struct Heads {
  model::ValueId value = model::kNoValue;
  bool tokens_first = false;  // [B,S,N,D]
  // Not empty: the value has other dims, and is [B,N,S,D] when reshaped to these.
  std::vector<int64_t> reshaped = {};
};

struct MaskTerm {
  model::ValueId value = model::kNoValue;  // added to the scores, or a condition:
  bool is_condition = false;
  bool masked_when = false;  // the condition's value that masks
  double fill = 0;           // what a masked score becomes
};

struct AttentionSite {
  Heads query, key, value;
  int64_t groups = 1;  // query heads per key head
  double scale = 1;
  std::vector<MaskTerm> masks;
  bool nan_to_zero = false;
  model::ValueId result = model::kNoValue;
  std::vector<model::NodeId> nodes;  // Softmax first; all that goes away
  KnownDim batch, heads, queries, keys, head_size, value_size;
  std::string why;  // when it can't be fused: the first condition that fails; empty and no result: no attention
  bool found() const { return why.empty() && result != model::kNoValue; }
};

// `ungroup`: take k and v before their repetition for groups of heads (Attention can; MultiHeadAttention can't).
AttentionSite find_attention(const model::Graph& graph, model::NodeId softmax, Dims& dims, bool ungroup);

// True when the heads can be had as [B,S,N·D] without a copy of our own: their value is a Transpose of [B,S,N,D], is
// that already, or is a part of [B,S,P,N,D] (q, k and v of one projection).
bool can_merge_heads(const model::Graph& graph, Dims& dims, const Heads& heads);
// That value: what was reshaped to heads, a new Reshape, or an output of a Split. `width` is N·D: written out, because
// ONNX's inference of Attention takes an unknown last dim for 0.
model::ValueId merged_heads(model::Graph& graph, Dims& dims, const Heads& heads, int64_t width);

// The masks of a site as one value that a fused operator takes: added up, conditions turned into numbers, expanded to
// [.., S, T] where it is not proven to have that shape. `queries` and `keys` are values whose given axis has the length
// S or T. With `clip`, float32's lowest becomes -1e38: Attention-23 takes a row of "lowest" for masked as a whole and
// gives 0, where Softmax gives the mean.
struct AxisOf {
  model::ValueId value = model::kNoValue;
  int axis = 0;
};
model::ValueId joined_mask(model::Graph& graph, Dims& dims, const AttentionSite& site, AxisOf queries, AxisOf keys,
                           bool clip);
// True when some row of the masks may be -inf throughout, as far as their constants tell.
bool may_mask_with_infinity(const model::Graph& graph, const AttentionSite& site);

// Lets what read `heads_first` [B,N,S,Dv] read `merged` [B,S,N·Dv] instead: the Transpose and Reshape behind it go,
// other readers get it back in their shape.
void replace_with_merged(model::Graph& graph, Dims& dims, model::ValueId heads_first, model::ValueId merged,
                         int64_t heads);

// Removes those of the nodes whose outputs nothing reads any more.
void remove_unread(model::Graph& graph, const std::vector<model::NodeId>& nodes);

}  // namespace hone::change
