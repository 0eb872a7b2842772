// Inference and fixing of shapes.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"

namespace hone::model {
namespace {

using ::testing::HasSubstr;

Model text_model(std::string_view text) {
  auto model = Model::from_text(text);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().line());
  return std::move(*model);
}

std::string type_of(const Model& model, const char* name) {
  return to_text(model.graph().value(model.graph().find_value(name)).type);
}

constexpr const char* kTwoInputs = R"(
<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[batch, seq, 8] x, float[batch, seq] mask, float[other, ?] z) => (float[batch, seq, 8] y, float[n, m] w)
{
  axes = Constant<value = int64[1] {2}>()
  wide = Unsqueeze(mask, axes)
  y = Mul(x, wide)
  shape = Shape(x)
  flat = Reshape(z, shape)
  custom = com.example.Op(x)
  w = Relu(z)
}
)";

TEST(Shapes, InferenceKeepsSymbolsAndEvaluatesShapeComputations) {
  Model model = text_model(kTwoInputs);
  ASSERT_TRUE(model.infer_shapes().has_value());
  EXPECT_EQ(type_of(model, "wide"), "float32[batch,seq,1]");
  EXPECT_EQ(type_of(model, "flat"), "float32[batch,seq,8]");
  EXPECT_EQ(type_of(model, "custom"), "unknown");
}

TEST(Shapes, FreezingPropagatesToEveryUseOfTheSymbol) {
  Model model = text_model(kTwoInputs);
  ASSERT_TRUE(model.infer_shapes().has_value());
  ASSERT_TRUE(model.freeze_shapes({{"x", {2, 5, 8}}}).has_value());
  EXPECT_EQ(type_of(model, "x"), "float32[2,5,8]");
  EXPECT_EQ(type_of(model, "mask"), "float32[2,5]");
  EXPECT_EQ(type_of(model, "wide"), "float32[2,5,1]");
  EXPECT_EQ(type_of(model, "y"), "float32[2,5,8]");
  EXPECT_EQ(type_of(model, "z"), "float32[other,?]");
  EXPECT_TRUE(model.check().has_value());
  EXPECT_EQ(type_of(*Model::from_bytes(*model.to_bytes()), "mask"), "float32[2,5]");
}

struct Refusal {
  std::map<std::string, std::vector<int64_t>> shapes;
  const char* sentence;
};

TEST(Shapes, FreezingRefusesWhatContradictsAndChangesNothing) {
  const Refusal refusals[] = {
      {{{"nothing", {1}}}, "model has no input of that name: 'nothing'"},
      {{{"x", {1, 2}}}, "shape has the wrong rank: 2 given, x is float32[batch,seq,8]"},
      {{{"x", {1, 2, 9}}}, "shape contradicts the model: 9 asked for, but it is 8"},
      {{{"x", {1, 2, 8}}, {"mask", {1, 3}}}, "shape contradicts itself: 'seq' can't be both"},
      {{{"x", {1, -2, 8}}}, "dimension must not be negative: -2"},
      {{{"y", {1, 2, 8}}}, "model has no input of that name: 'y'"},
  };
  for (const auto& refusal : refusals) {
    Model model = text_model(kTwoInputs);
    const std::string before = model.fingerprint();
    const auto status = model.freeze_shapes(refusal.shapes);
    ASSERT_FALSE(status.has_value()) << refusal.sentence;
    EXPECT_EQ(status.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(status.error().line(), HasSubstr(refusal.sentence));
    EXPECT_EQ(model.fingerprint(), before);
  }
}

TEST(Shapes, AShapeThatTheGraphCannotTakeIsRefused) {
  Model model = text_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 4] x) => (float[m, k] y) <float[3, 4] w = {1,1,1,1,1,1,1,1,1,1,1,1}> { y = Add(x, w) })");
  const auto status = model.freeze_shapes({{"x", {2, 4}}});
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().line(), HasSubstr("shapes contradict each other"));
  EXPECT_EQ(type_of(model, "x"), "float32[n,4]");
}

TEST(Shapes, ADeclaredTypeThatContradictsIsAnError) {
  Model model = text_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 4] x) => (float[2, 5] y) { y = Relu(x) })");
  const auto status = model.infer_shapes();
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().line(), HasSubstr("shapes contradict each other"));
}

TEST(Shapes, TypesReachSubgraphsAndTheirCaptures) {
  Model model = text_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x, bool c) => (float[k] y)
    {
      a = Relu(x)
      y = If (c) <
        then_branch = t () => (r) { u = Neg(a)  r = Exp(u) },
        else_branch = e () => (r) { r = Abs(a) }
      >
    })");
  ASSERT_TRUE(model.infer_shapes().has_value());
  const Graph& graph = model.graph();
  const auto inner = graph.subgraphs(graph.order().back()).front();
  EXPECT_EQ(to_text(inner->value(inner->find_value("u")).type), "float32[4]");
  EXPECT_EQ(to_text(inner->value(inner->find_value("a")).type), "float32[4]");
}

TEST(Shapes, AKnownTypeBehindAnUnknownOperatorIsWrittenAndReadAgain) {
  Model model = text_model(kTwoInputs);
  Graph& graph = model.graph();
  graph.set_type(graph.find_value("custom"), Type::tensor(DType::kFloat, Shape{{-1, "batch"}, {7, {}}}));
  auto again = Model::from_bytes(*model.to_bytes());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(type_of(*again, "custom"), "float32[batch,7]");
  ASSERT_TRUE(model.freeze_shapes({{"x", {3, 5, 8}}}).has_value());
  EXPECT_EQ(type_of(model, "custom"), "float32[3,7]");
}

}  // namespace
}  // namespace hone::model
