// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "change/rewrite/pattern.h"

namespace hone::change {

using model::Graph;
using model::kNoNode;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

namespace {

// Scores below this are exp() = 0 beside any other, whatever is added to them (float32's lowest is -3.4e38).
constexpr double kMaskedOut = -1e30;

bool has_perm(const Node& node, const std::vector<int64_t>& perm) {
  return node.is("Transpose") && node.attribute_ints("perm") == perm;
}

class Finder {
 public:
  Finder(const Graph& graph, NodeId softmax, Dims& dims, bool ungroup)
      : graph_(graph), softmax_(softmax), dims_(dims), ungroup_(ungroup) {}

  AttentionSite find() {
    site_.nodes = {softmax_};
    if (!down() || !up() || !operands() || !groups() || !shapes() || !masks() || !private_interior()) {
      site_.why = std::move(why_);
      site_.result = kNoValue;
    }
    return std::move(site_);
  }

 private:
  bool no() { return false; }
  bool refuse(std::string why) {
    why_ = std::move(why);
    return false;
  }
  std::string name(NodeId id) const { return describe(graph_, id); }
  std::string name(ValueId id, int) const { return describe_value(graph_, id); }
  NodeId producer_id(ValueId value) const { return value == kNoValue ? kNoNode : graph_.value(value).producer; }
  const Node* producer(ValueId value) const { return value == kNoValue ? nullptr : graph_.producer(value); }
  void take(NodeId id) {
    if (std::find(site_.nodes.begin(), site_.nodes.end(), id) == site_.nodes.end()) site_.nodes.push_back(id);
  }

  bool keeps_value(const Node& node) const {
    if (node.is("Identity")) return true;
    if (node.is("Dropout")) return node.input(2) == kNoValue || scalar_constant(graph_, node.input(2)) == 0.0;
    return node.is("Cast") &&
           static_cast<model::DType>(node.attribute_int("to", 0)) == dtype_of_value(graph_, node.input(0));
  }

  // The readers of a value other than Shape: what only asks for the shape is rewired, not refused.
  std::vector<NodeId> readers(ValueId value) const {
    std::vector<NodeId> out;
    for (const model::Use& use : graph_.value(value).uses)
      if (use.slot == model::kCaptured || !graph_.node(use.node).is("Shape"))
        if (std::find(out.begin(), out.end(), use.node) == out.end()) out.push_back(use.node);
    return out;
  }

  // From the Softmax to the MatMul with v.
  bool down() {
    ValueId value = graph_.node(softmax_).output(0);
    while (true) {
      const auto next = readers(value);
      const bool multiplied =
          std::any_of(next.begin(), next.end(), [&](NodeId id) { return graph_.node(id).is("MatMul"); });
      if (graph_.value(value).is_output)
        return multiplied
                   ? refuse(fmt::format("the attention weights '{}' are a graph output", graph_.value(value).name))
                   : no();
      if (next.size() == 2 && take_nan_to_zero(value, next)) {
        value = graph_.node(site_.nodes.back()).output(0);
        continue;
      }
      if (next.size() != 1) {
        return multiplied ? refuse(fmt::format("the attention weights '{}' have {} readers", graph_.value(value).name,
                                               next.size()))
                          : no();
      }
      const Node& node = graph_.node(next[0]);
      if (node.is("MatMul")) {
        if (node.input(0) != value || node.input(1) == value) return no();
        take(next[0]);
        site_.value.value = node.input(1);
        site_.result = node.output(0);
        return dims_.rank(site_.result) != 3 || unfold_result();
      }
      if (!keeps_value(node) || node.input(0) != value) return no();
      take(next[0]);
      value = node.output(0);
    }
  }

  // The product has batch and heads in one dim: the Reshape behind it is the site's result, the one before v its v.
  bool unfold_result() {
    folded_ = true;
    const auto next = readers(site_.result);
    if (next.size() != 1 || !graph_.node(next[0]).is("Reshape") || dims_.rank(graph_.node(next[0]).output(0)) != 4)
      return refuse(fmt::format("'{}' has batch and heads in one dim, and is not only reshaped to four",
                                graph_.value(site_.result).name));
    take(next[0]);
    site_.result = graph_.node(next[0]).output(0);
    return unfold(site_.value.value);
  }

  // [B·N,S,D] to the [B,N,S,D] it was reshaped from.
  bool unfold(ValueId& value) {
    const Node* reshape = producer(value);
    const auto flat = dims_.shape(value);
    const auto source = reshape != nullptr && reshape->is("Reshape") ? dims_.shape(reshape->input(0)) : std::nullopt;
    if (!flat || flat->size() != 3 || !source || source->size() != 4 || !same((*flat)[1], (*source)[2]) ||
        !same((*flat)[2], (*source)[3]))
      return refuse(
          fmt::format("{} is not [batch, heads, tokens, size] with the first two in one dim", name(value, 0)));
    value = reshape->input(0);
    return true;
  }

  // Where(IsNaN(p), 0, p): torch's SDPA gives rows that are masked as a whole zeros.
  bool take_nan_to_zero(ValueId value, const std::vector<NodeId>& readers) {
    for (const size_t i : {0, 1}) {
      const Node &test = graph_.node(readers[i]), &where = graph_.node(readers[1 - i]);
      if (!test.is("IsNaN") || !where.is("Where") || where.input(0) != test.output(0) || where.input(2) != value)
        continue;
      if (graph_.only_user(test.output(0)) != readers[1 - i] || scalar_constant(graph_, where.input(1)) != 0.0)
        continue;
      take(readers[i]);
      take(readers[1 - i]);
      site_.nan_to_zero = true;
      return true;
    }
    return false;
  }

  // From the Softmax up to the MatMul of q and k.
  bool up() {
    const Node& softmax = graph_.node(softmax_);
    const int64_t axis = softmax.attribute_int("axis", graph_.opset() < 13 ? 1 : -1);
    const int rank = dims_.rank(softmax.input(0));
    if (axis != -1 && axis != (rank < 0 ? 3 : rank - 1)) return no();
    ValueId value = softmax.input(0);
    NodeId scaled_after_mask = kNoNode;
    while (true) {
      const NodeId id = producer_id(value);
      if (id == kNoNode) return no();
      const Node& node = graph_.node(id);
      if (node.is("MatMul")) {
        scores_ = id;
        take(id);
        return true;
      }
      if (keeps_value(node)) {
        value = node.input(0);
      } else if (folded_ && node.is("Reshape")) {
        score_shapes_.push_back(node.input(0));
        score_shapes_.push_back(node.output(0));
        value = node.input(0);
      } else if (const auto factor = scaled_by(node)) {
        site_.scale *= factor->second;
        scaled_after_mask = id;
        value = factor->first;
      } else if (const auto masked = masked_by(node)) {
        if (scaled_after_mask != kNoNode)
          return refuse(fmt::format("{} scales the mask with the scores", name(scaled_after_mask)));
        site_.masks.push_back(masked->second);
        value = masked->first;
      } else {
        return no();
      }
      take(id);
    }
  }

  // x·s, x/s: the value and the factor.
  std::optional<std::pair<ValueId, double>> scaled_by(const Node& node) {
    if (!node.is("Mul") && !node.is("Div")) return std::nullopt;
    for (const size_t slot : {0, 1}) {
      if (node.is("Div") && slot == 1) break;
      const auto number = dims_.number(node.input(1 - slot));
      if (!number || !std::isfinite(*number) || *number == 0) continue;
      return std::pair{node.input(slot), node.is("Div") ? 1 / *number : *number};
    }
    return std::nullopt;
  }

  // Whether a value is q·kᵀ, scaled or masked: what an Add is followed to, the other side being the mask.
  bool leads_to_scores(ValueId value, int depth = 0) {
    const Node* node = producer(value);
    if (node == nullptr || depth > 6) return false;
    if (node->is("MatMul"))
      return graph_.constant(node->input(0)) == nullptr && graph_.constant(node->input(1)) == nullptr;
    if (keeps_value(*node) || (folded_ && node->is("Reshape"))) return leads_to_scores(node->input(0), depth + 1);
    if (const auto factor = scaled_by(*node)) return leads_to_scores(factor->first, depth + 1);
    if (node->is("Add"))
      return leads_to_scores(node->input(0), depth + 1) || leads_to_scores(node->input(1), depth + 1);
    if (node->is("Where"))
      return leads_to_scores(node->input(1), depth + 1) || leads_to_scores(node->input(2), depth + 1);
    return false;
  }

  std::optional<std::pair<ValueId, MaskTerm>> masked_by(const Node& node) {
    if (node.is("Add")) {
      const bool left = leads_to_scores(node.input(0)), right = leads_to_scores(node.input(1));
      if (left == right) return std::nullopt;
      return std::pair{node.input(left ? 0 : 1), MaskTerm{.value = node.input(left ? 1 : 0)}};
    }
    if (!node.is("Where")) return std::nullopt;
    for (const size_t slot : {1, 2}) {
      const auto fill = scalar_constant(graph_, node.input(slot));
      if (!fill || *fill > kMaskedOut) continue;
      return std::pair{node.input(3 - slot), MaskTerm{node.input(0), true, slot == 1, *fill}};
    }
    return std::nullopt;
  }

  // Through scales down to q and k themselves.
  bool operands() {
    const Node& scores = graph_.node(scores_);
    ValueId query = unscaled(scores.input(0)), key = unscaled(scores.input(1));
    if (folded_ && !unfold(query)) return false;
    site_.query = {folded_ ? unscaled(query) : query, false};
    const Node* node = producer(key);
    if (node == nullptr) return no();
    if (folded_) {
      if (!has_perm(*node, {0, 2, 1})) return refuse(fmt::format("{} is not a transpose of the keys", name(key, 0)));
      ValueId flat = unscaled(node->input(0));
      if (!unfold(flat)) return false;
      site_.key = {unscaled(flat), false};
      return true;
    }
    if (has_perm(*node, {0, 2, 3, 1})) {
      site_.key = {unscaled(node->input(0)), true};
    } else if (has_perm(*node, {0, 1, 3, 2})) {
      site_.key = {unscaled(node->input(0)), false};
    } else if (auto source = transposed_in_three_dims(*node)) {
      site_.key = std::move(*source);
      if (site_.key.reshaped.empty()) site_.key.value = unscaled(site_.key.value);
    } else {
      return refuse(fmt::format("{} is not a transpose of the keys", name(key, 0)));
    }
    return true;
  }

  ValueId unscaled(ValueId value) {
    while (const Node* node = producer(value)) {
      if (keeps_value(*node)) {
        value = node->input(0);
      } else if (const auto factor = scaled_by(*node)) {
        site_.scale *= factor->second;
        value = factor->first;
      } else {
        break;
      }
    }
    return value;
  }

  // Reshape([B,N,D,T]) of Transpose([0,2,1]) of Reshape([B·N,T,D]) of k [B,N,T,D]: torch.export's transpose of the last
  // two dims. Its optimizer may have merged the first Reshape with one before; then k is made anew.
  std::optional<Heads> transposed_in_three_dims(const Node& last) {
    const Node* middle = last.is("Reshape") ? producer(last.input(0)) : nullptr;
    const Node* first = middle != nullptr && has_perm(*middle, {0, 2, 1}) ? producer(middle->input(0)) : nullptr;
    if (first == nullptr || !first->is("Reshape")) return std::nullopt;
    const ValueId key = first->input(0);
    const auto from = dims_.shape(key), flat = dims_.shape(middle->input(0)), to = dims_.shape(last.output(0));
    if (!from || !flat || !to || flat->size() != 3 || to->size() != 4) return std::nullopt;
    if (!same((*flat)[1], (*to)[3]) || !same((*flat)[2], (*to)[2])) return std::nullopt;
    if (same(*from, {(*to)[0], (*to)[1], (*to)[3], (*to)[2]})) return Heads{key, false};
    std::vector<int64_t> dims;
    for (const size_t i : {0, 1, 3, 2}) {
      if (!(*to)[i].is_number) return std::nullopt;
      dims.push_back((*to)[i].value);
    }
    return Heads{key, false, std::move(dims)};
  }

  // k and v repeated for every head of a group: Reshape(Expand(Unsqueeze(k, 2))).
  bool groups() {
    if (site_.key.tokens_first || !ungroup_) return true;
    const ValueId key = ungrouped(site_.key), value = ungrouped(site_.value);
    if (key == kNoValue || value == kNoValue) return true;
    const auto all = shape_of(site_.key);
    const KnownDim few = dims_.dim(key, 1), few_values = dims_.dim(value, 1);
    if (!all || !(*all)[1].is_number || !few.is_number || few.value <= 0 || (*all)[1].value % few.value != 0 ||
        !same(few, few_values))
      return true;
    site_.groups = (*all)[1].value / few.value;
    site_.key = {key};
    site_.value = {value};
    return true;
  }

  std::optional<KnownDims> shape_of(const Heads& heads) {
    if (heads.reshaped.empty()) return dims_.shape(heads.value);
    KnownDims out;
    for (const int64_t dim : heads.reshaped) out.push_back(KnownDim::number(dim));
    return out;
  }

  ValueId ungrouped(const Heads& heads) {
    ValueId repeated = heads.value;
    if (heads.reshaped.empty()) {
      const Node* reshape = producer(repeated);
      if (reshape == nullptr || !reshape->is("Reshape")) return kNoValue;
      repeated = reshape->input(0);
    }
    const Node* expand = producer(repeated);
    const Node* unsqueeze = expand != nullptr && expand->is("Expand") ? producer(expand->input(0)) : nullptr;
    if (unsqueeze == nullptr || !unsqueeze->is("Unsqueeze")) return kNoValue;
    const ValueId source = unsqueeze->input(0);
    const auto before = dims_.shape(source), one = dims_.shape(unsqueeze->output(0)), many = dims_.shape(repeated),
               after = shape_of(heads);
    if (!before || !one || !many || !after || before->size() != 4 || one->size() != 5 || many->size() != 5 ||
        after->size() != 4)
      return kNoValue;
    const bool repeats = (*one)[2].is(1) && same((*many)[0], (*before)[0]) && same((*many)[1], (*before)[1]) &&
                         same((*many)[3], (*before)[2]) && same((*many)[4], (*before)[3]) &&
                         same((*after)[0], (*before)[0]) && same((*after)[2], (*before)[2]) &&
                         same((*after)[3], (*before)[3]);
    return repeats ? source : kNoValue;
  }

  bool shapes() {
    const auto query = dims_.shape(site_.query.value), value = dims_.shape(site_.value.value);
    auto key = shape_of(site_.key);
    const auto needs_four = [&](ValueId id, const std::optional<KnownDims>& shape) {
      return shape ? fmt::format("{} has rank {}, expected 4", name(id, 0), shape->size())
                   : fmt::format("the rank of {} is not known", name(id, 0));
    };
    if (!query || query->size() != 4) return refuse(needs_four(site_.query.value, query));
    if (!key || key->size() != 4) return refuse(needs_four(site_.key.value, key));
    if (!value || value->size() != 4) return refuse(needs_four(site_.value.value, value));
    if (site_.key.tokens_first) std::swap((*key)[1], (*key)[2]);
    site_.batch = (*query)[0];
    site_.heads = (*query)[1];
    site_.queries = (*query)[2];
    site_.head_size = (*query)[3];
    site_.keys = (*key)[2];
    site_.value_size = (*value)[3];
    const auto must_agree = [&](const char* what, const KnownDim& a, const KnownDim& b, const char* of_a,
                                const char* of_b) {
      return same(a, b) || refuse(fmt::format("the {} of {} ({}) and {} ({}) are not proven to be the same", what, of_a,
                                              to_text(a), of_b, to_text(b)));
    };
    if (!site_.heads.is_number)
      return refuse(fmt::format("the number of heads of {} is not known", name(site_.query.value, 0)));
    const KnownDim key_heads = KnownDim::number(site_.heads.value / site_.groups);
    return must_agree("batch", (*query)[0], (*key)[0], "q", "k") &&
           must_agree("batch", (*key)[0], (*value)[0], "k", "v") &&
           must_agree("number of heads", key_heads, (*key)[1], "q", "k") &&
           must_agree("number of heads", (*key)[1], (*value)[1], "k", "v") &&
           must_agree("length", (*key)[2], (*value)[2], "k", "v") && scores_keep_their_shape() && is_float();
  }

  // The Reshapes between folded products only fold and unfold batch and heads.
  bool scores_keep_their_shape() {
    for (const ValueId value : score_shapes_) {
      const auto shape = dims_.shape(value);
      const bool kept =
          shape && ((shape->size() == 4 && same((*shape)[0], site_.batch) && same((*shape)[1], site_.heads) &&
                     same((*shape)[2], site_.queries) && same((*shape)[3], site_.keys)) ||
                    (shape->size() == 3 && same((*shape)[1], site_.queries) && same((*shape)[2], site_.keys)));
      if (!kept) return refuse(fmt::format("{} is not the scores in three or four dims", name(value, 0)));
    }
    const auto result = folded_ ? dims_.shape(site_.result) : std::nullopt;
    if (!folded_ || (result && same((*result)[0], site_.batch) && same((*result)[1], site_.heads) &&
                     same((*result)[2], site_.queries)))
      return true;
    return refuse(fmt::format("{} is not [batch, heads, tokens, size]", name(site_.result, 0)));
  }

  bool is_float() {
    const model::DType dtype = dtype_of_value(graph_, graph_.node(softmax_).input(0));
    return dtype == model::DType::kFloat ||
           refuse(fmt::format("the scores are {}, only float32 is fused", model::dtype_name(dtype)));
  }

  // A mask may be broadcast to the scores, but must not widen them.
  bool masks() {
    for (const MaskTerm& mask : site_.masks) {
      std::string why = widens(mask);
      if (!why.empty() && !merged_back()) return refuse(std::move(why));
    }
    return true;
  }

  std::string widens(const MaskTerm& mask) {
    const auto shape = dims_.shape(mask.value);
    if (!shape) return fmt::format("the rank of the mask {} is not known", name(mask.value, 0));
    if (shape->size() > 4) return fmt::format("the mask {} has rank {}", name(mask.value, 0), shape->size());
    const KnownDim* full[] = {&site_.batch, &site_.heads, &site_.queries};
    const char* what[] = {"batch", "number of heads", "query length"};
    const size_t missing = 4 - shape->size();
    // The key axis needs no proof: v has site_.keys rows, so a wider mask fails in the original too.
    for (size_t axis = missing; axis < 3; ++axis) {
      const KnownDim& dim = (*shape)[axis - missing];
      if (dim.is(1) || same(dim, *full[axis])) continue;
      return fmt::format("dim {} of the mask {} ({}) is not proven to be 1 or the {} ({})", axis - missing,
                         name(mask.value, 0), to_text(dim), what[axis], to_text(*full[axis]));
    }
    return {};
  }

  // The result is transposed and reshaped to [B,S,N·Dv] in q's numbers: had the mask widened anything, the elements
  // would not fit and the model would fail.
  bool merged_back() {
    ValueId value = site_.result;
    bool transposed = false;
    for (int step = 0; step < 4; ++step) {
      const auto next = readers(value);
      if (next.size() != 1) return false;
      const Node& node = graph_.node(next[0]);
      if (has_perm(node, {0, 2, 1, 3})) {
        transposed = true;
      } else if (!node.is("Reshape")) {
        return false;
      }
      value = node.output(0);
      const auto shape = dims_.shape(value);
      if (!node.is("Reshape") || !transposed || !shape) continue;
      const KnownDim width = combined('*', site_.heads, site_.value_size);
      return shape->size() == 3 && same((*shape)[0], site_.batch) && same((*shape)[1], site_.queries) &&
             (same(shape->back(), width) || same(next_width(value), width));
    }
    return false;
  }

  // What the next product says the last dim of a value is.
  KnownDim next_width(ValueId value) {
    for (const NodeId id : readers(value)) {
      const Node& node = graph_.node(id);
      if (node.is("MatMul") && node.input(0) == value) return dims_.dim(node.input(1), -2);
    }
    return {};
  }

  // Nothing but the site reads what goes away. What q, k and v pass through on their way (scales, transposes) may stay.
  bool private_interior() {
    for (const NodeId id : site_.nodes) {
      const ValueId output = graph_.node(id).output(0);
      if (output == site_.result) continue;
      for (const model::Use& use : graph_.value(output).uses)
        if (std::find(site_.nodes.begin(), site_.nodes.end(), use.node) == site_.nodes.end())
          return refuse(fmt::format("{} also feeds {}", name(id), name(use.node)));
      if (graph_.value(output).is_output)
        return refuse(fmt::format("{} makes the graph output '{}'", name(id), graph_.value(output).name));
    }
    return true;
  }

  const Graph& graph_;
  const NodeId softmax_;
  Dims& dims_;
  const bool ungroup_;
  AttentionSite site_;
  NodeId scores_ = kNoNode;
  bool folded_ = false;  // the products have batch and heads in one dim
  std::vector<ValueId> score_shapes_;
  std::string why_;
};

}  // namespace

AttentionSite find_attention(const Graph& graph, NodeId softmax, Dims& dims, bool ungroup) {
  return Finder(graph, softmax, dims, ungroup).find();
}

}  // namespace hone::change
