// Conv(f(Conv(x)) * c + d, ...)   ==>   Conv(DepthwiseConv1x1(f(Conv(x)), c, d), ...)      [for ONNX Runtime]
//
// What fold-mul-add-into-next-conv has to leave before a Conv that pads: a scale and shift between two Convs. ONNX
// Runtime keeps feature maps in blocks of channels from Conv to Conv, and an Add or Mul of a constant makes it reorder
// to NCHW and back: three passes. As a 1x1 Conv with a group per channel it is one pass that stays in blocks.
//
// Safe: the same product and sum per channel. Rounding differs. Pays: PaddleOCR's detection 1.08 to 1.12 x,
// recognition 1.07 x (CPU time, one thread, 8 channels a block). Other engines fuse the Mul and Add into the Conv
// before. Opset >= 7. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "change/rewrite/pattern.h"
#include "change/rewrite/scale.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoNode;
using model::Node;
using model::NodeId;
using model::ValueId;

// Smallest block of channels of ONNX Runtime's blocked layout (NCHWc): 8 on AVX2, 16 on AVX-512.
constexpr int64_t kBlock = 8;
// Activations between the Convs: HardSwish before opset 14 is two nodes.
constexpr int kMaxActivations = 3;

// A Conv makes the value, itself or through activations that stay in blocks.
bool comes_from_conv(const Graph& graph, ValueId value) {
  static constexpr std::array kActivations = {"Relu",        "Clip",      "Sigmoid", "LeakyRelu",
                                              "HardSigmoid", "HardSwish", "Tanh"};
  for (int depth = 0; depth <= kMaxActivations; ++depth) {
    const Node* node = graph.producer(value);
    if (node == nullptr || !node->domain.empty()) return false;
    if (node->op_type == "Conv") return true;
    const bool activation = std::find(kActivations.begin(), kActivations.end(), node->op_type) != kActivations.end();
    const bool gated = node->op_type == "Mul" && node->inputs.size() == 2;  // x * HardSigmoid(x)
    if (!activation && !gated) return false;
    const Node* first = graph.producer(node->input(0));
    value = node->input(gated && first != nullptr && first->is("HardSigmoid") ? 1 : 0);
  }
  return false;
}

// The Conv that reads the value, with a constant weight; kNoNode when there is none.
NodeId reading_conv(const Graph& graph, ValueId value) {
  for (const model::Use& use : graph.value(value).uses)
    if (use.slot == 0 && graph.node(use.node).is("Conv") && graph.constant(graph.node(use.node).input(1)) != nullptr)
      return use.node;
  return kNoNode;
}

// value = x * scale + shift for one node; scale and shift have one element or one per channel.
struct Step {
  NodeId node = kNoNode;
  ValueId x = model::kNoValue;
  ChannelScale change;
};

Step step_of(const Graph& graph, ValueId value, int64_t channels) {
  const Node* node = graph.producer(value);
  if (node == nullptr || !(node->is("Mul") || node->is("Add") || node->is("Div") || node->is("Sub"))) return {};
  const bool commutes = node->is("Mul") || node->is("Add");
  for (const size_t slot : commutes ? std::vector<size_t>{1, 0} : std::vector<size_t>{1}) {
    const model::Tensor* constant = graph.constant(node->input(slot));
    const auto numbers = constant == nullptr ? std::nullopt : per_channel(*constant, channels, 4);
    if (!numbers) continue;
    Step step{graph.value(value).producer, node->input(1 - slot), {{1}, {0}}};
    for (const double number : *numbers)
      if (!std::isfinite(number) || (node->is("Div") && number == 0)) return {};
    if (node->is("Mul")) step.change.scale = *numbers;
    if (node->is("Add")) step.change.shift = *numbers;
    if (node->is("Div")) {
      step.change.scale.clear();
      for (const double number : *numbers) step.change.scale.push_back(1 / number);
    }
    if (node->is("Sub")) {
      step.change.shift.clear();
      for (const double number : *numbers) step.change.shift.push_back(-number);
    }
    return step;
  }
  return {};
}

class ReplaceMulAddWithConv final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"replace-mul-add-with-conv",
                                "x * c + d between two Convs",
                                "a 1x1 Conv of x with a group per channel",
                                "c and d are numbers or per channel, x has 4 dims and a multiple of 8 channels",
                                "unfused_batchnorm",
                                accuracy::Class::kReassociating,
                                false,
                                "onnxruntime"};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const ValueId result = graph.node(root).output(0);
    if (graph.opset() < 7 || result == model::kNoValue) return Match::no();
    const NodeId reader = reading_conv(graph, result);
    if (reader == kNoNode) return Match::no();
    const model::Tensor& weight = *graph.constant(graph.node(reader).input(1));
    if (weight.rank() != 4 || !model::is_floating(weight.dtype())) return Match::no();
    const int64_t channels = weight.dims()[1] * std::max<int64_t>(graph.node(reader).attribute_int("group", 1), 1);
    const Step last = step_of(graph, result, channels);
    if (last.node == kNoNode) return Match::no();
    Match match = Match::yes();
    match.nodes = {root};
    match.values = {last.x};
    std::vector<double> scale(static_cast<size_t>(channels), 1), shift(static_cast<size_t>(channels), 0);
    const Step first = graph.only_user(last.x) == kNoNode ? Step{} : step_of(graph, last.x, channels);
    if (first.node != kNoNode) {
      match.nodes.push_back(first.node);
      match.values = {first.x};
      apply(first.change, scale, shift);
    }
    apply(last.change, scale, shift);
    if (!comes_from_conv(graph, match.values[0])) return Match::no();
    if (channels % kBlock != 0)
      return Match::refused(
          fmt::format("{} has {} channels, not a multiple of {}", describe(graph, root), channels, kBlock));
    if (rank_of(graph, match.values[0]) != 4)
      return Match::refused(fmt::format("the rank of {} is not known", describe_value(graph, match.values[0])));
    match.tensors = {tensor_of_doubles(weight.dtype(), {channels, 1, 1, 1}, scale),
                     tensor_of_doubles(weight.dtype(), {channels}, shift)};
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const ValueId old = graph.node(match.nodes[0]).output(0);
    const std::string name = graph.value(old).name;
    const ValueId result = graph.add_value(name, graph.value(old).type);
    const ValueId weight = graph.add_constant(name + "_scale", match.tensors[0]);
    const ValueId bias = graph.add_constant(name + "_shift", match.tensors[1]);
    graph.add_node({.op_type = "Conv",
                    .inputs = {match.values[0], weight, bias},
                    .outputs = {result},
                    .attributes = {{"group", match.tensors[1].count()}, {"kernel_shape", std::vector<int64_t>{1, 1}}}});
    replace_match(graph, match.nodes, old, result);
  }

 private:
  // y = x * scale + shift, then the change on top.
  static void apply(const ChannelScale& change, std::vector<double>& scale, std::vector<double>& shift) {
    for (size_t c = 0; c < scale.size(); ++c) {
      const double k = change.scale[change.scale.size() == 1 ? 0 : c];
      scale[c] *= k;
      shift[c] = shift[c] * k + change.shift[change.shift.size() == 1 ? 0 : c];
    }
  }
};

}  // namespace

const Rule& replace_mul_add_with_conv() {
  static const ReplaceMulAddWithConv kRule;
  return kRule;
}

}  // namespace hone::change::rule
