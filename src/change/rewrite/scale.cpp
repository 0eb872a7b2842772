// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/scale.h"

#include <fmt/format.h>

#include "change/fold/numbers.h"
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

bool can_compute(model::DType dtype) {
  return dtype == model::DType::kFloat || dtype == model::DType::kDouble || dtype == model::DType::kFloat16 ||
         dtype == model::DType::kBfloat16;
}

// Output channel of each first-two-axes row of the weight: [M, C/g, ...] for Conv, [C, M/g, ...] for ConvTranspose.
int64_t output_channel(const Node& conv, const std::vector<int64_t>& weight, int64_t first, int64_t second) {
  if (conv.op_type == "Conv") return first;
  const int64_t group = std::max<int64_t>(conv.attribute_int("group", 1), 1);
  return first / (weight[0] / group) * weight[1] + second;
}

}  // namespace

FoldableConv foldable_conv(const Graph& graph, ValueId value) {
  const Node* conv = graph.producer(value);
  if (conv == nullptr || !(conv->is("Conv") || conv->is("ConvTranspose"))) return {};
  FoldableConv found;
  found.node = graph.value(value).producer;
  const Tensor* weight = graph.constant(conv->input(1));
  const std::string name = describe(graph, found.node);
  if (weight == nullptr || weight->rank() < 3) {
    found.why = fmt::format("the weight of {} is not a constant", name);
  } else if (!can_compute(weight->dtype())) {
    found.why = fmt::format("the weight of {} is {}", name, model::dtype_name(weight->dtype()));
  } else if (conv->input(2) != kNoValue && graph.constant(conv->input(2)) == nullptr) {
    found.why = fmt::format("the bias of {} is not a constant", name);
  } else if (graph.value(value).is_output) {
    found.why = fmt::format("{} makes the graph output '{}'", name, graph.value(value).name);
  } else if (graph.only_user(value) == kNoNode) {
    found.why = fmt::format("{} is read by more than one node", name);
  } else if (graph.only_user(conv->input(1)) == kNoNode) {
    found.why = fmt::format("the weight '{}' of {} is read elsewhere too", graph.value(conv->input(1)).name, name);
  }
  if (!found.why.empty()) return found;
  const int64_t group = std::max<int64_t>(conv->attribute_int("group", 1), 1);
  const std::vector<int64_t>& dims = weight->dims();
  found.channels = conv->op_type == "Conv" ? dims[0] : dims[1] * group;
  if (conv->op_type == "ConvTranspose" && dims[0] % group != 0)
    found.why = fmt::format("the weight of {} does not fit its groups", name);
  return found;
}

void scale_conv(Graph& graph, NodeId id, const ChannelScale& change) {
  const Node& conv = graph.node(id);
  const Tensor weight = *graph.constant(conv.input(1));
  const std::vector<int64_t>& dims = weight.dims();
  const auto factor = [](const std::vector<double>& list, int64_t channel) {
    return list[list.size() == 1 ? 0 : static_cast<size_t>(channel)];
  };
  std::span<std::byte> out;
  Tensor scaled = Tensor::make(weight.dtype(), dims, &out);
  const int64_t row = weight.count() / std::max<int64_t>(dims[0] * dims[1], 1);
  fold::with_number(weight.dtype(), [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    for (int64_t i = 0; i < weight.count(); ++i) {
      const int64_t channel = output_channel(conv, dims, i / row / dims[1], i / row % dims[1]);
      const size_t at = static_cast<size_t>(i) * Type::kSize;
      const auto value = static_cast<double>(Type::load(weight.bytes().data() + at)) * factor(change.scale, channel);
      Type::store(out.data() + at, static_cast<T>(value));
    }
  });
  const int64_t channels =
      conv.op_type == "Conv" ? dims[0] : dims[1] * std::max<int64_t>(conv.attribute_int("group", 1), 1);
  std::vector<double> bias(static_cast<size_t>(channels), 0.0);
  if (conv.input(2) != kNoValue) bias = graph.constant(conv.input(2))->to_doubles().value();
  for (int64_t c = 0; c < channels; ++c) {
    double& b = bias[static_cast<size_t>(c)];
    b = b * factor(change.scale, c) + factor(change.shift, c);
  }
  const std::string weight_name = graph.value(conv.input(1)).name;
  const std::string bias_name = conv.input(2) == kNoValue ? weight_name + "_bias" : graph.value(conv.input(2)).name;
  const ValueId new_weight = graph.add_constant(weight_name, std::move(scaled));
  const ValueId new_bias = graph.add_constant(bias_name, tensor_of_doubles(weight.dtype(), {channels}, bias));
  graph.set_input(id, 1, new_weight);
  graph.set_input(id, 2, new_bias);
}

void scale_conv_inputs(Graph& graph, NodeId id, const std::vector<double>& scale, const std::vector<double>& shift) {
  const Node& conv = graph.node(id);
  const Tensor weight = *graph.constant(conv.input(1));
  const std::vector<int64_t>& dims = weight.dims();
  const int64_t group = std::max<int64_t>(conv.attribute_int("group", 1), 1);
  const int64_t row = weight.count() / std::max<int64_t>(dims[0] * dims[1], 1);
  const auto at = [](const std::vector<double>& list, int64_t channel) {
    return list[list.size() == 1 ? 0 : static_cast<size_t>(channel)];
  };
  std::vector<double> bias(static_cast<size_t>(dims[0]), 0.0);
  if (conv.input(2) != kNoValue) bias = graph.constant(conv.input(2))->to_doubles().value();
  std::span<std::byte> out;
  Tensor scaled = Tensor::make(weight.dtype(), dims, &out);
  fold::with_number(weight.dtype(), [&](auto type) {
    using Type = decltype(type);
    for (int64_t i = 0; i < weight.count(); ++i) {
      const int64_t output = i / row / dims[1];
      const int64_t input = output / (dims[0] / group) * dims[1] + i / row % dims[1];
      const size_t byte = static_cast<size_t>(i) * Type::kSize;
      const auto value = static_cast<double>(Type::load(weight.bytes().data() + byte));
      if (!shift.empty()) bias[static_cast<size_t>(output)] += value * at(shift, input);
      Type::store(out.data() + byte, static_cast<typename Type::Value>(value * at(scale, input)));
    }
  });
  const bool has_bias = conv.input(2) != kNoValue;
  const std::string weight_name = graph.value(conv.input(1)).name;
  const std::string bias_name = has_bias ? graph.value(conv.input(2)).name : weight_name + "_bias";
  graph.set_input(id, 1, graph.add_constant(weight_name, std::move(scaled)));
  if (!shift.empty())
    graph.set_input(id, 2, graph.add_constant(bias_name, tensor_of_doubles(weight.dtype(), {dims[0]}, bias)));
}

std::optional<std::vector<double>> per_channel(const Tensor& constant, int64_t channels, int rank) {
  if (constant.rank() > rank || !model::is_floating(constant.dtype())) return std::nullopt;
  const std::vector<int64_t>& dims = constant.dims();
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool channel_axis = static_cast<int>(i) + rank - static_cast<int>(dims.size()) == 1;
    if (dims[i] != 1 && !(channel_axis && dims[i] == channels)) return std::nullopt;
  }
  Result<std::vector<double>> values = constant.to_doubles();
  if (!values) return std::nullopt;
  return std::move(*values);
}

Tensor tensor_of_doubles(model::DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(dtype, std::move(dims), &out);
  HONE_CHECK(tensor.count() == static_cast<int64_t>(values.size()));
  const bool numeric = fold::with_number(dtype, [&](auto type) {
    using Type = decltype(type);
    for (size_t i = 0; i < values.size(); ++i)
      Type::store(out.data() + i * Type::kSize, static_cast<typename Type::Value>(values[i]));
  });
  HONE_CHECK(numeric, "{} is no numeric type", model::dtype_name(dtype));
  return tensor;
}

}  // namespace hone::change
