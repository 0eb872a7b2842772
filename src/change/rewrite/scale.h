// Scaling weights: what folding BatchNormalization, Mul and Add into a Conv or MatMul has in common.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/graph.h"

namespace hone::change {

// y = y * scale[c] + shift[c] per output channel; one element each means all channels.
struct ChannelScale {
  std::vector<double> scale, shift;
};

// A Conv or ConvTranspose whose weight and bias can be changed.
struct FoldableConv {
  model::NodeId node = model::kNoNode;
  int64_t channels = 0;
  std::string why;  // not empty: it can't, and why
};

// Looks at the node that makes `value`: a Conv or ConvTranspose with constant floating-point weight (and bias), which
// only `value`'s single reader sees, and whose weight no other node reads. node == kNoNode: no Conv at all.
FoldableConv foldable_conv(const model::Graph& graph, model::ValueId value);

// Multiplies the weights of the Conv along its output channels and writes the bias: one new weight, one new bias.
// Computed in double, rounded once to the weight's type.
void scale_conv(model::Graph& graph, model::NodeId conv, const ChannelScale& scale);

// Changes a Conv so that it takes x in place of x * scale + shift, per *input* channel (one element each means all;
// shift empty: 0). Its bias takes the shift, which is right only for a Conv that pads nothing.
void scale_conv_inputs(model::Graph& graph, model::NodeId conv, const std::vector<double>& scale,
                       const std::vector<double>& shift);

// A constant that adds to or multiplies each channel (axis 1 of a feature map of rank `rank`): one number, or
// one per channel. nullopt when it is anything else.
std::optional<std::vector<double>> per_channel(const model::Tensor& constant, int64_t channels, int rank);

// A tensor of a floating-point type from doubles.
model::Tensor tensor_of_doubles(model::DType dtype, std::vector<int64_t> dims, const std::vector<double>& values);

}  // namespace hone::change
