// Loading, looking, inferring, checking, saving: the way every other room uses a Model.
// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kSmall = R"(
<ir_version: 8, opset_import: ["" : 17]>
small (float[batch, 4] x) => (float[batch, 4] y)
<float[4] bias = {1, 2, 3, 4}>
{
  sum = Add(x, bias)
  y = Relu(sum)
}
)";

Model text_model(std::string_view text) {
  auto model = Model::from_text(text);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().line());
  return std::move(*model);
}

TEST(Model, TextBecomesAGraphWithUsesAndProducers) {
  Model model = text_model(kSmall);
  const Graph& graph = model.graph();
  ASSERT_EQ(graph.node_count(), 2);
  const ValueId sum = graph.find_value("sum");
  ASSERT_NE(sum, kNoValue);
  EXPECT_EQ(graph.producer(sum)->op_type, "Add");
  EXPECT_EQ(graph.node(graph.only_user(sum)).op_type, "Relu");
  ASSERT_NE(graph.constant(graph.find_value("bias")), nullptr);
  EXPECT_THAT(graph.constant(graph.find_value("bias"))->values<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(graph.opset(), 17);
}

TEST(Model, InferenceFillsTypesWithSymbols) {
  Model model = text_model(kSmall);
  ASSERT_TRUE(model.infer_shapes().has_value());
  EXPECT_EQ(to_text(model.graph().value(model.graph().find_value("sum")).type), "float32[batch,4]");
}

TEST(Model, CheckAcceptsAValidAndRefusesAnInvalidModel) {
  EXPECT_TRUE(text_model(kSmall).check().has_value());
  Model model = text_model(kSmall);
  model.graph().set_op(model.graph().order()[1], "NoSuchOperator");
  const auto status = model.check();
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().line(), HasSubstr("NoSuchOperator"));
}

TEST(Model, SavedModelsLoadAgainWithTheSameFingerprint) {
  auto folder = ScratchFolder::create("hone-model-test");
  ASSERT_TRUE(folder.has_value());
  Model model = text_model(kSmall);
  for (const auto weights : {SaveOptions::Weights::kInline, SaveOptions::Weights::kExternal}) {
    const auto files = model.save(folder->path() / "m.onnx", {weights, true});
    ASSERT_TRUE(files.has_value()) << files.error().line();
    auto again = Model::load(folder->path() / "m.onnx");
    ASSERT_TRUE(again.has_value()) << again.error().line();
    EXPECT_EQ(again->fingerprint(), model.fingerprint());
    EXPECT_EQ(again->to_text(), model.to_text());
  }
}

}  // namespace
}  // namespace hone::model
