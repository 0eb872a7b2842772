// x -> Identity -> y    ==>   y's readers read x
//
// Identity and everything that is one: Dropout at inference, Cast to the same type, Transpose that keeps the order,
// Reshape and Expand to the shape x has, Concat and Sum of one input, Pad by nothing, Slice of everything, Add 0, Mul
// 1, Div 1.
//
// Safe: y has the type and the shape of x, proven from static or equal symbolic dims, never from one sample's; the
// values are the same bits. Add 0 alone is not: -0 + 0 is +0, so it goes only for integers, and for -0.0 in floats. All
// opsets: attributes and inputs are read as the operator's version has them. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

// Whether a node hands its input on unchanged: which input, or why it only looks like it.
struct Pass {
  ValueId from = kNoValue;
  std::string why;
};

Pass passes(ValueId from) { return {from, {}}; }
Pass no() { return {}; }
Pass near_miss(std::string why) { return {kNoValue, std::move(why)}; }

bool all_equal(const std::vector<int64_t>& list, int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](int64_t item) { return item == value; });
}

Pass dropout(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId mask = node.output(1);
  const std::string name = describe(graph, id);
  if (mask != kNoValue && graph.used_outside(mask, {})) return near_miss(fmt::format("the mask of {} is read", name));
  if (node.attribute_int("is_test", 1) == 0) return near_miss(fmt::format("{} is in training mode", name));
  const ValueId training = node.input(2);
  if (training != kNoValue) {
    const std::optional<double> on = scalar_constant(graph, training);
    if (!on || *on != 0) return near_miss(fmt::format("{} is not proven to be in inference mode", name));
  }
  return passes(node.input(0));
}

Pass cast(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const model::DType from = dtype_of_value(graph, node.input(0));
  const auto to = static_cast<model::DType>(node.attribute_int("to", 0));
  return from != model::DType::kUndefined && from == to ? passes(node.input(0)) : no();
}

Pass transpose(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto perm = node.attribute_ints("perm");
  if (!perm)
    return rank_of(graph, node.input(0)) == 0 || rank_of(graph, node.input(0)) == 1 ? passes(node.input(0)) : no();
  for (size_t i = 0; i < perm->size(); ++i)
    if ((*perm)[i] != static_cast<int64_t>(i)) return no();
  return passes(node.input(0));
}

// Reshape, Expand, Flatten, Squeeze, Unsqueeze: nothing but the shape can change, and it does not.
Pass keeps_shape(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return same_shape(graph, node.input(0), node.output(0)) ? passes(node.input(0)) : no();
}

Pass only_input(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.inputs.size() == 1 ? passes(node.input(0)) : no();
}

Pass pad(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::optional<std::vector<int64_t>> pads = node.attribute_ints("pads");
  if (!pads) pads = int_constants(graph, node.input(1));
  return pads && all_equal(*pads, 0) ? passes(node.input(0)) : no();
}

// The whole of every axis: start 0, step 1, end at or beyond the dimension (or the largest number: no dim needed).
Pass slice(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::optional<std::vector<int64_t>> starts = node.attribute_ints("starts"), ends = node.attribute_ints("ends"), steps;
  if (!starts) starts = int_constants(graph, node.input(1));
  if (!ends) ends = int_constants(graph, node.input(2));
  if (!starts || !ends || !all_equal(*starts, 0)) return no();
  if (node.input(4) != kNoValue) {
    steps = int_constants(graph, node.input(4));
    if (!steps || !all_equal(*steps, 1)) return no();
  }
  constexpr int64_t kToTheEnd = std::numeric_limits<int32_t>::max();  // exporters write this or the int64 one
  if (std::all_of(ends->begin(), ends->end(), [](int64_t end) { return end >= kToTheEnd; }))
    return passes(node.input(0));
  const auto before = static_dims(graph, node.input(0)), after = static_dims(graph, node.output(0));
  return before && after && *before == *after ? passes(node.input(0)) : no();
}

// The constant keeps every bit of x: 1 for Mul and Div, 0 for integer Add and Sub, the signed zero that is neutral.
bool is_neutral(const Node& node, const model::Tensor& constant) {
  if (constant.count() == 0 || constant.dtype() == model::DType::kString) return false;
  const Result<std::vector<double>> numbers = constant.to_doubles();
  if (!numbers) return false;
  return std::all_of(numbers->begin(), numbers->end(), [&](double number) {
    if (node.is("Mul") || node.is("Div")) return number == 1;
    if (number != 0) return false;
    if (!model::is_floating(constant.dtype())) return true;
    return node.is("Add") ? std::signbit(number) : !std::signbit(number);
  });
}

Pass arithmetic(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool commutative = node.is("Add") || node.is("Mul");
  for (const size_t slot : commutative ? std::vector<size_t>{1, 0} : std::vector<size_t>{1}) {
    const model::Tensor* constant = node.input(slot) == kNoValue ? nullptr : graph.constant(node.input(slot));
    if (constant == nullptr || !is_neutral(node, *constant)) continue;
    const ValueId kept = node.input(1 - slot);
    // A constant of one element and at most x's rank never widens x; any other needs proof.
    const int rank = rank_of(graph, kept);
    const bool widens_nothing =
        constant->count() == 1 && (constant->rank() == 0 || (rank >= 0 && constant->rank() <= rank));
    if (widens_nothing || same_shape(graph, kept, node.output(0))) return passes(kept);
    return near_miss(fmt::format("{} may widen {}: its constant has {} dims", describe(graph, id),
                                 describe_value(graph, kept), constant->rank()));
  }
  return no();
}

struct Kind {
  std::string_view op;
  Pass (*check)(const Graph&, NodeId);
};
constexpr std::array kKinds = {
    Kind{"Identity", only_input}, Kind{"Dropout", dropout},     Kind{"Cast", cast},
    Kind{"Transpose", transpose}, Kind{"Reshape", keeps_shape}, Kind{"Expand", keeps_shape},
    Kind{"Flatten", keeps_shape}, Kind{"Squeeze", keeps_shape}, Kind{"Unsqueeze", keeps_shape},
    Kind{"Concat", only_input},   Kind{"Sum", only_input},      Kind{"Max", only_input},
    Kind{"Min", only_input},      Kind{"Mean", only_input},     Kind{"Pad", pad},
    Kind{"Slice", slice},         Kind{"Add", arithmetic},      Kind{"Sub", arithmetic},
    Kind{"Mul", arithmetic},      Kind{"Div", arithmetic},
};

class RemoveIdentity final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{
        "remove-identity",
        "Identity(x); Dropout, Cast, Transpose, Reshape, Slice, Pad, Concat, Add, Mul that change nothing",
        "x",
        "the result has x's type, shape and bits",
        "side_effect_ops",
        accuracy::Class::kExact,
        true};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& node = graph.node(root);
    if (!node.domain.empty()) return Match::no();
    const auto* kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.op == node.op_type; });
    if (kind == kKinds.end()) return Match::no();
    const Pass pass = kind->check(graph, root);
    if (!pass.why.empty()) return Match::refused(pass.why);
    if (pass.from == kNoValue) return Match::no();
    if (!can_replace(graph, node.output(0), pass.from))
      return Match::refused(fmt::format("{} gives {} the name of the graph output '{}'", describe(graph, root),
                                        describe_value(graph, pass.from), graph.value(node.output(0)).name));
    Match match = Match::yes();
    match.nodes = {root};
    match.values = {node.output(0), pass.from};
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    replace_match(graph, match.nodes, match.values[0], match.values[1]);
  }
};

}  // namespace

const Rule& remove_identity() {
  static const RemoveIdentity kRule;
  return kRule;
}

}  // namespace hone::change::rule
