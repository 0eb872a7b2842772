// Conv(x * c, W, b)           ==>   Conv(x, W * c, b)
// Conv(x + d, W, b)           ==>   Conv(x, W, b + sum(W * d))     [the Conv pads nothing]
// Conv(x * c + d, W, b)       ==>   Conv(x + d / c, W * c, b)      [the Conv pads; every c is not 0]
//
// Also / and -; c and d are one number or one per *input* channel. Safe: a convolution is linear in its input. Padding
// adds zeros after the sum: so d moves only through a Conv that pads nothing, while c passes the padding (0 * c = 0).
// Rounding differs. Pays: networks with a learned scale and shift after each activation (PaddleOCR) lose two passes a
// layer. Opset >= 7. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "change/rewrite/pattern.h"
#include "change/rewrite/scale.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoNode;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

// value = x * scale or x + shift by a constant.
struct Affine {
  NodeId node = kNoNode;
  ValueId x = kNoValue;
  bool multiplies = false;
  std::vector<double> numbers;
  std::string why;
};

class FoldMulAddIntoNextConv final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fold-mul-add-into-next-conv",
                                "Conv(x * c + d, W, b)",
                                "Conv(x, W * c, b + sum(W * d)), or Conv(x + d / c, W * c, b) when the Conv pads",
                                "c and d are numbers or per input channel; nothing else reads x * c + d or W",
                                "unfused_batchnorm",
                                accuracy::Class::kReassociating,
                                false};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& conv = graph.node(root);
    if (!conv.is("Conv") || graph.opset() < 7) return Match::no();
    const model::Tensor* weight = graph.constant(conv.input(1));
    if (weight == nullptr || weight->rank() < 3) return Match::no();
    const int64_t channels = weight->dims()[1] * std::max<int64_t>(conv.attribute_int("group", 1), 1);
    const Affine last = affine(graph, conv.input(0), channels, static_cast<int>(weight->rank()));
    if (last.node == kNoNode) return Match::no();
    if (!last.why.empty()) return Match::refused(last.why);
    std::string why = fixed_weight(graph, root);
    if (!why.empty()) return Match::refused(std::move(why));
    if (last.multiplies) return found({root, last.node}, last.x, {}, last.numbers, {});
    if (!pads(conv)) return found({root, last.node}, last.x, {}, {1}, last.numbers);
    const Affine first = affine(graph, last.x, channels, static_cast<int>(weight->rank()));
    if (first.node == kNoNode || !first.multiplies)
      return Match::refused(fmt::format("{} pads with zeros, and {} comes before the padding", describe(graph, root),
                                        describe(graph, last.node)));
    if (!first.why.empty()) return Match::refused(first.why);
    return divided(graph, {root, last.node, first.node}, first, last);
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const NodeId conv = match.nodes[0];
    const auto scales = static_cast<size_t>(match.numbers[0]);
    const std::vector<double> scale(match.numbers.begin() + 1,
                                    match.numbers.begin() + 1 + static_cast<std::ptrdiff_t>(scales));
    const std::vector<double> shift(match.numbers.begin() + 1 + static_cast<std::ptrdiff_t>(scales),
                                    match.numbers.end());
    scale_conv_inputs(graph, conv, scale, shift);
    if (match.tensors.empty()) {
      graph.set_input(conv, 0, match.values[0]);
    } else {
      const ValueId sum = graph.node(match.nodes[1]).output(0);
      const ValueId result = graph.add_value(graph.value(sum).name, graph.value(sum).type);
      const ValueId constant = graph.add_constant(graph.value(sum).name + "_shift", match.tensors[0]);
      graph.add_node({.op_type = "Add", .inputs = {match.values[0], constant}, .outputs = {result}});
      graph.set_input(conv, 0, result);
    }
    for (size_t i = 1; i < match.nodes.size(); ++i) graph.remove_node(match.nodes[i]);
  }

 private:
  static bool pads(const Node& conv) {
    const std::string automatic = conv.attribute_string("auto_pad", "NOTSET");
    if (automatic == "VALID") return false;
    if (automatic != "NOTSET") return true;
    const auto pads = conv.attribute_ints("pads");
    return pads && std::any_of(pads->begin(), pads->end(), [](int64_t pad) { return pad != 0; });
  }

  static std::string fixed_weight(const Graph& graph, NodeId id) {
    const Node& conv = graph.node(id);
    if (graph.only_user(conv.input(1)) == kNoNode)
      return fmt::format("the weight '{}' of {} is read elsewhere too", graph.value(conv.input(1)).name,
                         describe(graph, id));
    if (conv.input(2) != kNoValue && graph.constant(conv.input(2)) == nullptr)
      return fmt::format("the bias of {} is not a constant", describe(graph, id));
    if (!model::is_floating(graph.constant(conv.input(1))->dtype()))
      return fmt::format("the weight of {} is not of a floating-point type", describe(graph, id));
    return {};
  }

  static Affine affine(const Graph& graph, ValueId value, int64_t channels, int rank) {
    const Node* node = graph.producer(value);
    if (node == nullptr || !(node->is("Mul") || node->is("Add") || node->is("Div") || node->is("Sub"))) return {};
    const bool commutes = node->is("Mul") || node->is("Add");
    for (const size_t slot : commutes ? std::vector<size_t>{1, 0} : std::vector<size_t>{1}) {
      const model::Tensor* constant = graph.constant(node->input(slot));
      if (constant == nullptr) continue;
      Affine found{graph.value(value).producer, node->input(1 - slot), node->is("Mul") || node->is("Div"), {}, {}};
      const std::string name = describe(graph, found.node);
      const auto numbers = per_channel(*constant, channels, rank);
      if (!numbers) {
        found.why = fmt::format("the constant of {} has the shape [{}], expected one number or one per channel", name,
                                fmt::join(constant->dims(), ","));
      } else if (graph.only_user(value) == kNoNode || graph.value(value).is_output) {
        found.why = fmt::format("{} is read by more than the Conv", name);
      } else if (rank_of(graph, found.x) != rank && constant->count() != 1) {
        found.why = fmt::format("the rank of {} is not known", describe_value(graph, found.x));
      } else {
        found.numbers = *numbers;
      }
      for (double& number : found.numbers) {
        if (node->is("Div")) number = 1 / number;
        if (node->is("Sub")) number = -number;
        if (!std::isfinite(number)) found.why = fmt::format("the constant of {} is not finite", name);
      }
      return found;
    }
    return {};
  }

  static Match found(std::vector<NodeId> nodes, ValueId x, std::vector<model::Tensor> shift_before,
                     const std::vector<double>& scale, const std::vector<double>& shift) {
    Match match = Match::yes();
    match.nodes = std::move(nodes);
    match.values = {x};
    match.tensors = std::move(shift_before);
    match.numbers = {static_cast<double>(scale.size())};
    match.numbers.insert(match.numbers.end(), scale.begin(), scale.end());
    match.numbers.insert(match.numbers.end(), shift.begin(), shift.end());
    return match;
  }

  // x * c + d = (x + d / c) * c: the sum stays before the padding, the factor goes into the weight.
  static Match divided(const Graph& graph, std::vector<NodeId> nodes, const Affine& product, const Affine& sum) {
    const size_t count = std::max(product.numbers.size(), sum.numbers.size());
    const model::Tensor& weight = *graph.constant(graph.node(nodes[0]).input(1));
    std::vector<double> quotient;
    for (size_t i = 0; i < count; ++i) {
      const double c = product.numbers[product.numbers.size() == 1 ? 0 : i];
      const double d = sum.numbers[sum.numbers.size() == 1 ? 0 : i];
      quotient.push_back(d / c);
      if (c == 0 || !std::isfinite(static_cast<float>(d / c)) || (d != 0 && std::fabs(static_cast<float>(c)) < 1e-30F))
        return Match::refused(fmt::format("{} multiplies by {:g}", describe(graph, product.node), c));
    }
    std::vector<int64_t> dims(count == 1 ? 0 : static_cast<size_t>(weight.rank()), 1);
    if (count > 1) dims[1] = static_cast<int64_t>(count);
    return found(std::move(nodes), product.x, {tensor_of_doubles(weight.dtype(), dims, quotient)}, product.numbers, {});
  }
};

}  // namespace

const Rule& fold_mul_add_into_next_conv() {
  static const FoldMulAddIntoNextConv kRule;
  return kRule;
}

}  // namespace hone::change::rule
