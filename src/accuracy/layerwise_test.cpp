// SPDX-License-Identifier: Apache-2.0
#include "accuracy/layerwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/data.h"

namespace hone::accuracy {
namespace {

using model::Model;
using model::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kOriginal = R"(
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 2] x) => (float[1, 2] y) <float[1, 2] k = {1, 2}>
{
  a = Relu(x)
  s = Sigmoid(a)
  b = Mul(a, s)
  c = Add(b, k)
  y = Neg(c)
}
)";
// Sigmoid and Mul became one node that keeps the name b.
constexpr const char* kRewritten = R"(
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 2] x) => (float[1, 2] y) <float[1, 2] k = {1, 2}>
{
  a = Relu(x)
  h = Abs(a)
  b = HardSwish(h)
  c = Add(b, k)
  y = Neg(c)
}
)";

Model inferred(const char* text) {
  auto model = Model::from_text(text);
  EXPECT_TRUE(model) << model.error().line();
  EXPECT_TRUE(model->infer_shapes());
  return std::move(*model);
}

std::vector<std::string> names_of(const std::vector<SharedTensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& t : tensors) names.push_back(t.name);
  return names;
}

TEST(Layerwise, SharedTensorsAreThoseBothProduceInTheOriginalsOrder) {
  const Model a = inferred(kOriginal), b = inferred(kRewritten);
  const auto shared = shared_tensors(a.graph(), b.graph());
  EXPECT_THAT(names_of(shared), ElementsAre("a", "b", "c", "y"));
  EXPECT_EQ(shared[0].bytes, 8);
}

TEST(Layerwise, ChunksStayUnderTheirLimits) {
  const std::vector<SharedTensor> tensors = {{"a", 10}, {"b", 10}, {"c", 100}, {"d", 0}, {"e", 0}, {"f", 0}};
  EXPECT_THAT(chunks_of(tensors, 20, 2),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("c"), ElementsAre("d", "e"), ElementsAre("f")));
  EXPECT_TRUE(chunks_of({}, 20, 2).empty());
}

Metrics measured(const std::string& name, double relative) {
  Metrics m;
  m.name = name;
  m.relative_max = relative;
  m.elements = 2;
  return m;
}

TEST(Layerwise, TheFirstTensorOverTheGateIsTheDeparture) {
  const Model a = inferred(kOriginal), b = inferred(kRewritten);
  const auto departure = first_departure(
      a.graph(), b.graph(), {measured("a", 1e-6), measured("b", 0.2), measured("c", 0.3), measured("y", 0.3)}, {},
      Class::kReassociating);
  ASSERT_TRUE(departure);
  EXPECT_EQ(departure->tensor, "b");
  EXPECT_EQ(departure->rule, "HardSwish in place of Mul");
  EXPECT_EQ(departure->input_error, 1e-6);
  EXPECT_THAT(departure->nodes, ElementsAre(HasSubstr("h"), HasSubstr("b")));
  EXPECT_THAT(departure->sentence(), HasSubstr("tensor 'b'"));
  EXPECT_EQ(departure->to_json()["metrics"]["name"], "b");
}

TEST(Layerwise, NoDepartureWhenAllHoldOrCannotBeCompared) {
  const Model a = inferred(kOriginal), b = inferred(kRewritten);
  EXPECT_FALSE(
      first_departure(a.graph(), b.graph(), {measured("a", 1e-6), measured("b", 5e-4)}, {}, Class::kReassociating));
  Metrics other = measured("b", 1);
  other.problem = "is float32[2], the reference is float32[1,2]";
  EXPECT_FALSE(first_departure(a.graph(), b.graph(), {other, measured("c", 0)}, {}, Class::kReassociating));
}

TEST(Layerwise, TheWholeSearchRunsBothModelsWithExtraOutputs) {
  const Model a = inferred(kOriginal), b = inferred(kRewritten);
  const auto scratch = ScratchFolder::create("hone-layerwise").value();
  std::vector<std::string> seen;
  // Stands for an engine: writes every output of the model it is given; b and what follows differ in the second model.
  const RunModel run = [&](Side side, const fs::path& file, const fs::path& out) -> Status {
    const Model model = HONE_TRY(Model::load(file));
    HONE_TRY(model.check());
    model::NamedTensors outputs;
    for (const auto id : model.graph().outputs()) {
      const std::string& name = model.graph().value(id).name;
      seen.push_back(name);
      const bool differs = side == Side::kB && name != "a";
      outputs.emplace_back(name, Tensor::of<float>({1, 2}, {1, differs ? 2.5f : 2}));
    }
    return protocol::write_samples(out, {outputs, outputs});
  };
  const auto departure = find_departure(a, b, {}, Class::kExact, scratch.path(), run);
  ASSERT_TRUE(departure) << departure.error().line();
  ASSERT_TRUE(*departure);
  EXPECT_EQ((*departure)->tensor, "b");
  EXPECT_THAT(seen, ElementsAre("y", "a", "b", "c", "y", "a", "b", "c"));
  EXPECT_TRUE(fs::is_empty(scratch.path()));

  const auto none = find_departure(a, a, {}, Class::kExact, scratch.path(), run);
  EXPECT_TRUE(none && none->has_value()) << "the stand-in lies about b.onnx";
  const RunModel honest = [&](Side, const fs::path& file, const fs::path& out) -> Status {
    fs::copy_file(file, out.parent_path() / "kept", fs::copy_options::overwrite_existing);
    return protocol::write_samples(out, {{{"a", Tensor::of<float>({1, 2}, {1, 2})}}});
  };
  EXPECT_FALSE(find_departure(a, a, {}, Class::kExact, scratch.path(), honest).value());
}

TEST(Layerwise, AFailedRunIsPassedOn) {
  const Model a = inferred(kOriginal);
  const auto scratch = ScratchFolder::create("hone-layerwise").value();
  const auto result =
      find_departure(a, a, {}, Class::kExact, scratch.path(),
                     [](Side, const fs::path&, const fs::path&) -> Status { return fail(tool_failed("engine died")); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kToolFailed);
}

}  // namespace
}  // namespace hone::accuracy
