// What attention rewrites put into the graph around the fused operator. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "change/rewrite/attention.h"
#include "change/rewrite/pattern.h"

namespace hone::change {

using model::Graph;
using model::kNoNode;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::Tensor;
using model::ValueId;

namespace {

// Beside any score this is exp() = 0, and it is not float32's lowest.
constexpr float kClip = -1e38F;

ValueId add(Graph& graph, std::string_view op, std::vector<ValueId> inputs, std::string_view hint,
            model::Type type = {}, std::vector<std::pair<std::string, model::Attribute>> attributes = {}) {
  const ValueId out = graph.add_value(hint, std::move(type));
  graph.add_node(
      {.op_type = std::string(op), .inputs = std::move(inputs), .outputs = {out}, .attributes = std::move(attributes)});
  return out;
}

std::string name_of(const Graph& graph, ValueId value) { return graph.value(value).name; }

ValueId int_constant(Graph& graph, std::string_view hint, const std::vector<int64_t>& values) {
  return graph.add_constant(hint, Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

// A node that already does this: sites of one model share their masks.
template <class Same>
ValueId made_before(const Graph& graph, ValueId input, std::string_view op, Same same_node) {
  for (const model::Use& use : graph.value(input).uses)
    if (use.slot >= 0 && graph.node(use.node).is(op) && same_node(graph.node(use.node)))
      return graph.node(use.node).output(0);
  return kNoValue;
}

// What the constants of a mask expression say about its values.
struct MaskValues {
  bool infinite = false, lowest = false, unknown = false;
  void operator|=(const MaskValues& other) {
    infinite |= other.infinite;
    lowest |= other.lowest;
    unknown |= other.unknown;
  }
};

MaskValues number_values(double number) {
  MaskValues out;
  out.infinite = std::isinf(number);
  out.lowest = !out.infinite && number < kClip;
  return out;
}

MaskValues tensor_values(const Tensor& tensor) {
  MaskValues out;
  const auto numbers = tensor.to_doubles();
  if (!numbers) return {.unknown = true};
  for (const double number : *numbers) out |= number_values(number);
  return out;
}

MaskValues mask_values(const Graph& graph, ValueId value, int depth = 0) {
  constexpr int kDeepest = 12;
  if (value == kNoValue || depth > kDeepest) return {.unknown = true};
  if (const Tensor* tensor = graph.constant(value)) return tensor_values(*tensor);
  const Node* node = graph.producer(value);
  if (node == nullptr || !node->domain.empty()) return {.unknown = true};
  const auto of = [&](size_t slot) { return mask_values(graph, node->input(slot), depth + 1); };
  const std::string& op = node->op_type;
  if (op == "Where") {
    MaskValues out = of(1);
    out |= of(2);
    return out;
  }
  if (op == "Identity" || op == "Cast" || op == "Unsqueeze" || op == "Squeeze" || op == "Reshape" || op == "Expand" ||
      op == "Slice" || op == "Gather" || op == "Transpose" || op == "Trilu") {
    if (op == "Cast" && !model::is_floating(dtype_of_value(graph, node->input(0)))) return {};  // 0 and 1
    return of(0);
  }
  if (op == "Add") {
    MaskValues out = of(0);
    out |= of(1);
    // lowest + lowest is -inf.
    if (out.lowest) out.infinite = true;
    return out;
  }
  // (1 - mask) * lowest: a small number times the constant.
  if (op == "Mul")
    for (const size_t slot : {0, 1})
      if (const auto number = scalar_constant(graph, node->input(slot))) return number_values(*number);
  if (op == "Max")
    for (const size_t slot : {0, 1})
      if (const auto number = scalar_constant(graph, node->input(slot)); number && *number >= kClip) return {};
  return {.unknown = true};
}

MaskValues mask_values(const Graph& graph, const AttentionSite& site) {
  MaskValues out;
  bool several = false;
  for (const MaskTerm& mask : site.masks) {
    MaskValues one = mask.is_condition ? number_values(mask.fill) : mask_values(graph, mask.value);
    if (several && one.lowest && out.lowest) out.infinite = true;
    out |= one;
    several = true;
  }
  return out;
}

ValueId condition_as_numbers(Graph& graph, const MaskTerm& mask, bool clip) {
  const float fill = std::isinf(mask.fill) ? -std::numeric_limits<float>::infinity()
                     : clip                ? std::max(static_cast<float>(mask.fill), kClip)
                                           : static_cast<float>(mask.fill);
  const float yes = mask.masked_when ? fill : 0.0F, no = mask.masked_when ? 0.0F : fill;
  const ValueId before = made_before(graph, mask.value, "Where", [&](const Node& node) {
    return node.input(0) == mask.value && scalar_constant(graph, node.input(1)) == double{yes} &&
           scalar_constant(graph, node.input(2)) == double{no};
  });
  if (before != kNoValue) return before;
  const std::string hint = name_of(graph, mask.value);
  model::Type type = graph.value(mask.value).type;
  type.dtype = model::DType::kFloat;
  return add(graph, "Where",
             {mask.value, graph.add_constant(hint + "_yes", Tensor::scalar(yes)),
              graph.add_constant(hint + "_no", Tensor::scalar(no))},
             hint + "_mask", std::move(type));
}

// max(mask, -1e38); -inf stays where it means zeros (a row masked as a whole, cleaned of NaN behind the Softmax).
ValueId clipped(Graph& graph, ValueId mask, bool keep_infinity) {
  const std::string hint = name_of(graph, mask);
  const model::Type type = graph.value(mask).type;
  ValueId out = made_before(graph, mask, "Max", [&](const Node& node) {
    return node.inputs.size() == 2 && scalar_constant(graph, node.input(1)) == double{kClip};
  });
  if (out == kNoValue)
    out =
        add(graph, "Max", {mask, graph.add_constant(hint + "_floor", Tensor::scalar(kClip))}, hint + "_clipped", type);
  if (!keep_infinity) return out;
  const ValueId before = made_before(graph, out, "Where", [&](const Node& node) { return node.input(2) == out; });
  if (before != kNoValue) return before;
  model::Type bools = type;
  bools.dtype = model::DType::kBool;
  const ValueId infinite = add(graph, "IsInf", {mask}, hint + "_infinite", bools, {{"detect_positive", int64_t{0}}});
  return add(graph, "Where", {infinite, mask, out}, hint + "_masked", type);
}

ValueId length(Graph& graph, const KnownDim& dim, AxisOf axis, std::string_view hint) {
  if (dim.is_number) return int_constant(graph, hint, {dim.value});
  const ValueId shape =
      add(graph, "Shape", {axis.value}, std::string(hint) + "_shape", model::Type::tensor(model::DType::kInt64));
  return add(graph, "Gather", {shape, int_constant(graph, std::string(hint) + "_axis", {axis.axis})}, hint,
             model::Type::tensor(model::DType::kInt64, model::Shape{{1, {}}}));
}

// [.., S, T], where it is not proven to be that already.
ValueId expanded(Graph& graph, Dims& dims, const AttentionSite& site, ValueId mask, AxisOf queries, AxisOf keys) {
  const auto shape = dims.shape(mask);
  if (shape && shape->size() == 4 && same((*shape)[2], site.queries) && same((*shape)[3], site.keys)) return mask;
  const ValueId before = made_before(graph, mask, "Expand", [&](const Node& node) {
    const auto target = dims.elements(node.input(1));
    return target && same(*target, {KnownDim::number(1), KnownDim::number(1), site.queries, site.keys});
  });
  if (before != kNoValue) return before;
  const std::string hint = name_of(graph, mask);
  const ValueId ones = int_constant(graph, hint + "_ones", {1, 1});
  const ValueId target = site.queries.is_number && site.keys.is_number
                             ? int_constant(graph, hint + "_dims", {1, 1, site.queries.value, site.keys.value})
                             : add(graph, "Concat",
                                   {ones, length(graph, site.queries, queries, hint + "_queries"),
                                    length(graph, site.keys, keys, hint + "_keys")},
                                   hint + "_dims", model::Type::tensor(model::DType::kInt64, model::Shape{{4, {}}}),
                                   {{"axis", int64_t{0}}});
  const model::Type type = graph.value(mask).type;
  return add(graph, "Expand", {mask, target}, hint + "_expanded", model::Type::tensor(type.dtype, model::Shape(4)));
}

}  // namespace

bool may_mask_with_infinity(const Graph& graph, const AttentionSite& site) {
  const MaskValues values = mask_values(graph, site);
  return values.infinite || values.unknown;
}

ValueId joined_mask(Graph& graph, Dims& dims, const AttentionSite& site, AxisOf queries, AxisOf keys, bool clip) {
  if (site.masks.empty()) return kNoValue;
  const MaskValues values = mask_values(graph, site);
  ValueId sum = kNoValue;
  for (const MaskTerm& term : site.masks) {
    const ValueId mask = term.is_condition ? condition_as_numbers(graph, term, clip) : term.value;
    sum = sum == kNoValue ? mask
                          : add(graph, "Add", {sum, mask}, name_of(graph, mask) + "_joined",
                                model::Type::tensor(model::DType::kFloat));
  }
  const bool all_conditions =
      std::all_of(site.masks.begin(), site.masks.end(), [](const MaskTerm& term) { return term.is_condition; });
  const bool needs_clip = clip && (values.lowest || values.unknown) && !(all_conditions && site.masks.size() == 1);
  if (needs_clip) sum = clipped(graph, sum, site.nan_to_zero && (values.infinite || values.unknown));
  return expanded(graph, dims, site, sum, queries, keys);
}

namespace {

bool has_perm(const Node& node, const std::vector<int64_t>& perm) {
  return node.is("Transpose") && node.attribute_ints("perm") == perm;
}

// [B,S,N,D] behind heads, or kNoValue.
ValueId tokens_first(const Graph& graph, const Heads& heads) {
  if (!heads.reshaped.empty()) return kNoValue;
  if (heads.tokens_first) return heads.value;
  const Node* node = graph.producer(heads.value);
  return node != nullptr && has_perm(*node, {0, 2, 1, 3}) ? node->input(0) : kNoValue;
}

// One of the parts of [B,S,P,N,D]: what a projection to q, k and v at once is split into.
struct Part {
  ValueId all = kNoValue;
  int64_t index = 0, count = 0;
};

std::optional<Part> part_of(const Graph& graph, Dims& dims, const Heads& heads) {
  if (heads.tokens_first || !heads.reshaped.empty()) return std::nullopt;
  const Node* pick = graph.producer(heads.value);
  if (pick == nullptr) return std::nullopt;
  Part part;
  ValueId transposed = kNoValue;
  if (pick->is("Gather") && pick->attribute_int("axis", 0) == 0) {
    const auto index = graph.constant(pick->input(1)) ? graph.constant(pick->input(1))->to_int64s()
                                                      : Result<std::vector<int64_t>>(std::vector<int64_t>{});
    if (!index || index->size() != 1 || graph.constant(pick->input(1))->rank() != 0) return std::nullopt;
    part.index = index->front();
    transposed = pick->input(0);
  } else if (pick->is("Squeeze")) {
    const Node* split = graph.producer(pick->input(0));
    if (split == nullptr || !split->is("Split") || split->attribute_int("axis", 0) != 0) return std::nullopt;
    if (!dims.dim(pick->input(0), 0).is(1) || dims.rank(heads.value) != 4) return std::nullopt;
    part.index = graph.value(pick->input(0)).producer_slot;
    transposed = split->input(0);
  }
  const Node* node = transposed == kNoValue ? nullptr : graph.producer(transposed);
  if (node == nullptr || !has_perm(*node, {2, 0, 3, 1, 4})) return std::nullopt;
  part.all = node->input(0);
  const KnownDim count = dims.dim(part.all, 2);
  if (!count.is_number || part.index < -count.value || part.index >= count.value) return std::nullopt;
  if (pick->is("Squeeze") && graph.producer(pick->input(0))->outputs.size() != static_cast<size_t>(count.value))
    return std::nullopt;
  part.count = count.value;
  if (part.index < 0) part.index += part.count;
  return part;
}

// A value whose first two dims are [B,S] with everything behind them in one dim.
ValueId flattened(Graph& graph, Dims& dims, ValueId value, int64_t width) {
  const Node* node = graph.producer(value);
  const auto shape = dims.shape(value);
  if (node != nullptr && node->is("Reshape") && shape) {
    const auto source = dims.shape(node->input(0));
    if (source && source->size() == 3 && same((*source)[0], (*shape)[0]) && same((*source)[1], (*shape)[1]))
      return node->input(0);
  }
  const ValueId before = made_before(graph, value, "Reshape", [&](const Node& reshape) {
    return int_constants(graph, reshape.input(1)) == std::vector<int64_t>{0, 0, width} &&
           reshape.attribute_int("allowzero", 0) == 0;
  });
  if (before != kNoValue) return before;
  const std::string hint = name_of(graph, value) + "_merged";
  return add(graph, "Reshape", {value, int_constant(graph, hint + "_dims", {0, 0, width})}, hint,
             model::Type::tensor(dtype_of_value(graph, value), model::Shape{{}, {}, {width, {}}}));
}

ValueId split_off(Graph& graph, ValueId all, const Part& part, int64_t width) {
  const std::vector<int64_t> widths(static_cast<size_t>(part.count), width);
  for (const model::Use& use : graph.value(all).uses) {
    const Node& node = graph.node(use.node);
    if (use.slot == 0 && node.is("Split") && node.attribute_int("axis", 0) == 2 &&
        int_constants(graph, node.input(1)) == widths)
      return node.output(static_cast<size_t>(part.index));
  }
  const std::string hint = name_of(graph, all) + "_part";
  model::NodeSpec split{.op_type = "Split", .inputs = {all}, .attributes = {{"axis", int64_t{2}}}};
  if (graph.opset() >= 13) {
    split.inputs.push_back(int_constant(graph, hint + "_widths", widths));
  } else {
    split.attributes.emplace_back("split", widths);
  }
  for (int64_t i = 0; i < part.count; ++i)
    split.outputs.push_back(
        graph.add_value(hint, model::Type::tensor(dtype_of_value(graph, all), model::Shape{{}, {}, {width, {}}})));
  const ValueId out = split.outputs[static_cast<size_t>(part.index)];
  graph.add_node(std::move(split));
  return out;
}

}  // namespace

bool can_merge_heads(const Graph& graph, Dims& dims, const Heads& heads) {
  return tokens_first(graph, heads) != kNoValue || part_of(graph, dims, heads).has_value();
}

ValueId merged_heads(Graph& graph, Dims& dims, const Heads& heads, int64_t width) {
  const ValueId tokens = tokens_first(graph, heads);
  if (tokens != kNoValue) return flattened(graph, dims, tokens, width);
  const auto part = part_of(graph, dims, heads);
  HONE_CHECK(part.has_value());
  return split_off(graph, flattened(graph, dims, part->all, part->count * width), *part, width);
}

void remove_unread(Graph& graph, const std::vector<NodeId>& nodes) {
  for (bool removed = true; removed;) {
    removed = false;
    for (const NodeId id : nodes) {
      if (!graph.alive(id)) continue;
      const auto& outputs = graph.node(id).outputs;
      if (std::any_of(outputs.begin(), outputs.end(),
                      [&](ValueId output) { return output != kNoValue && graph.used_outside(output, {}); }))
        continue;
      graph.remove_node(id);
      removed = true;
    }
  }
}

namespace {

// Hands `merged` to the readers of one value after another; makes the other layouts only when somebody needs them.
class Handover {
 public:
  Handover(Graph& graph, Dims& dims, ValueId merged, int64_t heads)
      : graph_(graph), dims_(dims), merged_(merged), heads_(heads) {}

  void heads_first(ValueId value) {
    const auto shape = dims_.shape(value);
    for (const NodeId id : readers(value)) {
      const Node& node = graph_.node(id);
      const auto out = node.is("Reshape") ? dims_.shape(node.output(0)) : std::nullopt;
      if (has_perm(node, {0, 2, 1, 3})) {
        tokens_first(node.output(0));
        remove_unread(graph_, {id});
      } else if (shape && out && same(*shape, *out)) {
        heads_first(node.output(0));
        remove_unread(graph_, {id});
      } else if (node.is("Shape") && node.attribute("start") == nullptr && node.attribute("end") == nullptr) {
        const ValueId sizes = add(graph_, "Shape", {tokens()}, name_of(graph_, node.output(0)),
                                  model::Type::tensor(model::DType::kInt64, model::Shape{{4, {}}}));
        const ValueId order = int_constant(graph_, name_of(graph_, value) + "_order", {0, 2, 1, 3});
        replace(node.output(0), add(graph_, "Gather", {sizes, order}, name_of(graph_, node.output(0)),
                                    graph_.value(node.output(0)).type));
      }
    }
    if (graph_.used_outside(value, {}))
      replace(value, add(graph_, "Transpose", {tokens()}, name_of(graph_, value), graph_.value(value).type,
                         {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}));
  }

 private:
  std::vector<NodeId> readers(ValueId value) const {
    std::vector<NodeId> out;
    for (const model::Use& use : graph_.value(value).uses)
      if (use.slot == 0) out.push_back(use.node);
    return out;
  }

  void tokens_first(ValueId value) {
    const auto shape = dims_.shape(value);
    for (const NodeId id : readers(value)) {
      const Node& node = graph_.node(id);
      const auto out = node.is("Reshape") ? dims_.shape(node.output(0)) : std::nullopt;
      if (out && shape && out->size() == 3 && shape->size() == 4 && same((*out)[0], (*shape)[0]) &&
          same((*out)[1], (*shape)[1])) {
        graph_.set_type(merged_, graph_.value(node.output(0)).type);
        replace(node.output(0), merged_);
      }
    }
    if (graph_.used_outside(value, {})) replace(value, tokens());
  }

  // Everything that reads `from` reads `to`; the node of `from` goes when nothing reads it any more.
  void replace(ValueId from, ValueId to) { replace_match(graph_, {graph_.value(from).producer}, from, to); }

  ValueId tokens() {
    if (tokens_ != kNoValue) return tokens_;
    const std::string hint = name_of(graph_, merged_) + "_heads";
    tokens_ = add(graph_, "Reshape", {merged_, int_constant(graph_, hint + "_dims", {0, 0, heads_, -1})}, hint,
                  model::Type::tensor(dtype_of_value(graph_, merged_), model::Shape(4)));
    return tokens_;
  }

  Graph& graph_;
  Dims& dims_;
  const ValueId merged_;
  const int64_t heads_;
  ValueId tokens_ = kNoValue;
};

}  // namespace

void replace_with_merged(Graph& graph, Dims& dims, ValueId heads_first, ValueId merged, int64_t heads) {
  Handover(graph, dims, merged, heads).heads_first(heads_first);
}

}  // namespace hone::change
