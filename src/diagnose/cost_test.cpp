// FLOPs and bytes against counts by hand. SPDX-License-Identifier: Apache-2.0
#include "diagnose/cost.h"

#include <gtest/gtest.h>

#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

Operand f32(std::vector<int64_t> dims, bool constant = false) {
  return {true, true, model::DType::kFloat, std::move(dims), constant};
}
Operand of(model::DType dtype, std::vector<int64_t> dims, bool constant = false) {
  return {true, true, dtype, std::move(dims), constant};
}

Cost cost(std::string_view type, std::vector<Operand> inputs, std::vector<Operand> outputs,
          const model::Node* node = nullptr) {
  return cost_of({type, node, std::move(inputs), std::move(outputs)});
}

model::Node node_with(std::string_view key, model::Attribute value) {
  model::Node node;
  node.set_attribute(key, std::move(value));
  return node;
}

TEST(Cost, AProductOfMatrices) {
  const Cost c = cost("MatMul", {f32({2, 3, 4}), f32({4, 5}, true)}, {f32({2, 3, 5})});
  EXPECT_EQ(c.flops, 2 * 2 * 3 * 4 * 5);
  EXPECT_EQ(c.weight_bytes, 80);
  EXPECT_EQ(c.bytes, 96 + 80 + 120);
}

TEST(Cost, AGemmWithATransposedLeftSide) {
  const model::Node node = node_with("transA", int64_t{1});
  EXPECT_EQ(cost("Gemm", {f32({4, 3}), f32({4, 5})}, {f32({3, 5})}, &node).flops, 2 * 3 * 4 * 5);
  EXPECT_EQ(cost("Gemm", {f32({3, 4}), f32({4, 5})}, {f32({3, 5})}).flops, 2 * 3 * 4 * 5);
}

TEST(Cost, AVectorTimesAMatrix) { EXPECT_EQ(cost("MatMul", {f32({4}), f32({4, 5})}, {f32({5})}).flops, 40); }

TEST(Cost, ConvolutionsPlainGroupedAndDepthwise) {
  EXPECT_EQ(cost("Conv", {f32({1, 3, 8, 8}), f32({16, 3, 3, 3}, true)}, {f32({1, 16, 8, 8})}).flops,
            2.0 * 16 * 64 * 27);
  EXPECT_EQ(cost("Conv", {f32({1, 8, 8, 8}), f32({8, 4, 3, 3})}, {f32({1, 8, 8, 8})}).flops, 2.0 * 8 * 64 * 36);
  EXPECT_EQ(cost("FusedConv", {f32({1, 8, 8, 8}), f32({8, 1, 3, 3})}, {f32({1, 8, 4, 4})}).flops, 2.0 * 8 * 16 * 9);
}

TEST(Cost, OpenVinosGroupedFiltersHaveOneMoreDimension) {
  EXPECT_EQ(cost("GroupConvolution", {f32({1, 8, 8, 8}), f32({8, 1, 1, 3, 3})}, {f32({1, 8, 8, 8})}).flops,
            2.0 * 8 * 64 * 9);
}

TEST(Cost, ATransposedConvolutionCountsItsInputs) {
  EXPECT_EQ(cost("ConvTranspose", {f32({1, 4, 5, 5}), f32({4, 6, 2, 2})}, {f32({1, 6, 10, 10})}).flops, 2.0 * 100 * 24);
}

TEST(Cost, AQuantizedConvolutionHasItsFiltersFourth) {
  using model::DType;
  const Operand scale = f32({}), zero = of(DType::kUint8, {});
  const Cost c =
      cost("QLinearConv", {of(DType::kUint8, {1, 3, 8, 8}), scale, zero, of(DType::kInt8, {16, 3, 3, 3}, true)},
           {of(DType::kUint8, {1, 16, 8, 8})});
  EXPECT_EQ(c.flops, 2.0 * 16 * 64 * 27);
  EXPECT_EQ(c.weight_bytes, 432);
}

TEST(Cost, AttentionInItsForms) {
  const double expected = 4.0 * 2 * 10 * 20 * 64;  // QK' and PV, 2 batches, 10 queries, 20 keys, hidden 64
  EXPECT_EQ(
      cost("MultiHeadAttention", {f32({2, 10, 64}), f32({2, 20, 64}), f32({2, 20, 64})}, {f32({2, 10, 64})}).flops,
      expected);
  EXPECT_EQ(
      cost("Attention", {f32({2, 4, 10, 16}), f32({2, 4, 20, 16}), f32({2, 4, 20, 16})}, {f32({2, 4, 10, 16})}).flops,
      expected);
  EXPECT_EQ(cost("GroupQueryAttention",
                 {f32({2, 1, 64}), f32({2, 1, 16}), f32({2, 1, 16}), f32({2, 1, 19, 16}), f32({2, 1, 19, 16})},
                 {f32({2, 1, 64})})
                .flops,
            4.0 * 2 * 1 * 20 * 64);
  // com.microsoft: the projection of 64 to 3 x 64 is inside.
  EXPECT_EQ(cost("Attention", {f32({2, 10, 64}), f32({64, 192}, true)}, {f32({2, 10, 64})}).flops,
            2.0 * 20 * 64 * 192 + 4.0 * 2 * 10 * 10 * 64);
}

TEST(Cost, RecurrentLayersRepeatTheirMatricesForEachStep) {
  EXPECT_EQ(cost("LSTM", {f32({7, 2, 10}), f32({1, 80, 10}, true), f32({1, 80, 20}, true)}, {f32({7, 1, 2, 20})}).flops,
            2.0 * 14 * (800 + 1600));
}

TEST(Cost, ViewsCopyNothingAndGatherReadsWhatItGives) {
  EXPECT_EQ(cost("Reshape", {f32({4, 4}), of(model::DType::kInt64, {1})}, {f32({16})}).bytes, 0);
  const Cost gather = cost("Gather", {f32({30000, 64}, true), of(model::DType::kInt64, {8})}, {f32({8, 64})});
  EXPECT_EQ(gather.bytes, 2 * 8 * 64 * 4);
  EXPECT_EQ(gather.weight_bytes, 8 * 64 * 4);
  EXPECT_EQ(gather.flops, 0);
}

TEST(Cost, PoolingCountsItsWindowAndReductionsTheirInput) {
  const model::Node node = node_with("kernel_shape", std::vector<int64_t>{3, 3});
  EXPECT_EQ(cost("MaxPool", {f32({1, 4, 8, 8})}, {f32({1, 4, 4, 4})}, &node).flops, 9 * 64);
  EXPECT_EQ(cost("ReduceMean", {f32({1, 4, 8, 8})}, {f32({1, 4, 1, 1})}).flops, 256);
}

TEST(Cost, WhatIsNotKnownIsMinusOneNotZero) {
  const Cost custom = cost("MyOp", {f32({4})}, {f32({4})});
  EXPECT_EQ(custom.flops, -1);
  EXPECT_EQ(custom.bytes, -1);
  Operand unknown;
  unknown.present = true;
  const Cost c = cost("MatMul", {unknown, f32({4, 5})}, {f32({3, 5})});
  EXPECT_EQ(c.flops, -1);
  EXPECT_EQ(c.bytes, -1);
  EXPECT_EQ(cost("MaxPool", {f32({1, 4, 8, 8})}, {f32({1, 4, 4, 4})}).flops, -1);
}

TEST(Cost, AbsentOptionalInputsCostNothing) {
  const Cost c = cost("Clip", {f32({10}), Operand{}, f32({})}, {f32({10})});
  EXPECT_EQ(c.bytes, 40 + 4 + 40);
}

TEST(OperatorTable, EnginesNamesLeadToTheirOnnxOperator) {
  EXPECT_EQ(onnx_type("FusedConv"), "Conv");
  EXPECT_EQ(onnx_type("Multiply"), "Mul");
  EXPECT_EQ(onnx_type("Mul"), "Mul");
  EXPECT_EQ(onnx_type("NeverHeardOf"), "NeverHeardOf");
  EXPECT_EQ(to_text(class_of("FullyConnected")), "MatMul");
  EXPECT_EQ(to_text(class_of("NeverHeardOf")), "Other");
}

TEST(OperatorTable, NoTypeIsListedTwice) {
  std::vector<std::string> types = {
#define HONE_OPERATOR(type, klass, rule, factor, onnx) type,
#include "diagnose/operators.def"
#undef HONE_OPERATOR
  };
  std::sort(types.begin(), types.end());
  EXPECT_EQ(std::adjacent_find(types.begin(), types.end()), types.end());
}

}  // namespace
}  // namespace hone::diagnose
