// SPDX-License-Identifier: Apache-2.0
#include "change/quantize/int8_dynamic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/model.h"
#include "support/context.h"

namespace hone::change {
namespace {

using model::Model;
using model::Tensor;
using model::ValueId;

// y = x W (256 x 256), z = Gemm(y, V^T, b): W and V are added as constants with a known pattern.
Model two_layers(float scale = 1.0f) {
  Model model = Model::from_text(R"(
<ir_version: 8, opset_import: ["" : 17]>
g (float[3,256] x, float[256,256] w, float[256,256] v, float[256] b) => (float[3,256] z) {
  y = MatMul(x, w)
  z = Gemm<transB = 1>(y, v, b)
})")
                    .value();
  model::Graph& graph = model.graph();
  std::vector<float> w(256 * 256), b(256);
  for (size_t i = 0; i < w.size(); ++i) w[i] = scale * std::sin(static_cast<float>(i));
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i);
  for (const char* name : {"w", "v"})
    for (model::NodeId id : graph.order())
      for (size_t slot = 0; slot < graph.node(id).inputs.size(); ++slot)
        if (graph.value(graph.node(id).inputs[slot]).name == name)
          graph.set_input(id, slot, graph.add_constant(std::string(name) + "_const", Tensor::of<float>({256, 256}, w)));
  EXPECT_TRUE(model.infer_shapes());
  return model;
}

int count(const model::Graph& graph, std::string_view op) {
  int n = 0;
  for (model::NodeId id : graph.order()) n += graph.node(id).op_type == op ? 1 : 0;
  return n;
}

TEST(Int8Dynamic, QuantizesMatMulAndTransposedGemmAndKeepsTheBias) {
  Model model = two_layers();
  const auto layers = quantize_int8_dynamic(model.graph(), {});
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_TRUE(layers[0].quantized && layers[1].quantized);
  EXPECT_EQ(count(model.graph(), "MatMulInteger"), 2);
  EXPECT_EQ(count(model.graph(), "MatMul") + count(model.graph(), "Gemm"), 0);
  EXPECT_EQ(count(model.graph(), "Add"), 1);
  EXPECT_TRUE(model.check()) << model.check().error().line();
  EXPECT_TRUE(model.infer_shapes());
  EXPECT_EQ(model.graph().value(model.graph().outputs()[0]).name, "z");
}

TEST(Int8Dynamic, ErrorOfAWeightIsAtMostHalfAStepPerChannel) {
  Model model = two_layers();
  quantize_int8_dynamic(model.graph(), {});
  const model::Graph& graph = model.graph();
  int checked = 0;
  for (model::NodeId id : graph.order()) {
    if (graph.node(id).op_type != "MatMulInteger") continue;
    const Tensor* q = graph.constant(graph.node(id).inputs[1]);
    ASSERT_NE(q, nullptr);
    const std::string name = graph.value(graph.node(id).inputs[1]).name;
    const Tensor* scale = graph.constant(graph.find_value(name + "_scale"));
    ASSERT_NE(scale, nullptr);
    const auto values = q->values<int8_t>();
    const auto scales = scale->values<float>();
    const bool transposed = name.starts_with("v");
    for (size_t k = 0; k < 256; ++k)
      for (size_t n = 0; n < 256; ++n) {
        const float w = std::sin(static_cast<float>(transposed ? n * 256 + k : k * 256 + n));
        const float back = static_cast<float>(values[k * 256 + n]) * scales[n];
        ASSERT_LE(std::fabs(back - w), 0.5001f * scales[n]) << name << " " << k << " " << n;
        ASSERT_NE(values[k * 256 + n], -128);
      }
    ++checked;
  }
  EXPECT_EQ(checked, 2);
}

TEST(Int8Dynamic, SharesTheQuantizedActivationOfTwoLayers) {
  Model model = two_layers();
  model.graph().set_input(model.graph().order().back(), 0, model.graph().inputs()[0]);  // the Gemm reads x, too
  const auto layers = quantize_int8_dynamic(model.graph(), {});
  EXPECT_EQ(layers.size(), 2u);
  EXPECT_EQ(count(model.graph(), "DynamicQuantizeLinear"), 1);
}

TEST(Int8Dynamic, SaysWhyASmallLayerStaysFloat) {
  Model model = two_layers();
  QuantizeOptions options;
  options.least_elements = 256 * 256 + 1;
  const auto layers = quantize_int8_dynamic(model.graph(), options);
  EXPECT_FALSE(layers[0].quantized);
  EXPECT_THAT(layers[0].why, testing::HasSubstr("65536 weights; below 65537"));
  EXPECT_EQ(count(model.graph(), "MatMulInteger"), 0);
}

TEST(Int8Dynamic, CanKeepTheLastLayerInFloat) {
  Model model = two_layers();
  QuantizeOptions options;
  options.skip_last = true;
  const auto layers = quantize_int8_dynamic(model.graph(), options);
  EXPECT_TRUE(layers[0].quantized);
  EXPECT_EQ(layers[1].why, "the last layer stays float");
  EXPECT_EQ(count(model.graph(), "Gemm"), 1);
}

TEST(Int8Dynamic, RefusesWeightsThatAreNotFinite) {
  Model model = two_layers(std::numeric_limits<float>::infinity());
  const auto layers = quantize_int8_dynamic(model.graph(), {});
  EXPECT_FALSE(layers[0].quantized);
  EXPECT_EQ(layers[0].why, "the weight holds NaN or infinity");
}

TEST(Int8Dynamic, UsesSevenBitsWithoutIntegerDotProducts) {
  Model model = two_layers();
  QuantizeOptions options;
  options.seven_bit = true;
  quantize_int8_dynamic(model.graph(), options);
  for (model::NodeId id : model.graph().order()) {
    if (model.graph().node(id).op_type != "MatMulInteger") continue;
    for (int8_t q : model.graph().constant(model.graph().node(id).inputs[1])->values<int8_t>())
      ASSERT_LE(std::abs(q), 63);
  }
}

TEST(Int8Dynamic, IsNotProposedForAModelWithoutWeights) {
  test::TestContext test;
  std::string why;
  EXPECT_TRUE(test.proposals("int8-dynamic", &why).empty());
  EXPECT_EQ(why, "no MatMul or Gemm with a constant weight");
}

}  // namespace
}  // namespace hone::change
