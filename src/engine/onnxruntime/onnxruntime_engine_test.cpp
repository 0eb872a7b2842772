// What only the onnxruntime engine does: strings, sequences, output binding, its own options and messages.
// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "engine/engine_test_support.h"

namespace hone::engine {
namespace {

using model::DType;
using model::NamedTensors;
using model::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::EngineTest;
using testing_support::expect_one_line;
using testing_support::one;

class OnnxRuntimeEngine : public EngineTest {
 protected:
  const Engine& engine() const { return **find_engine("onnxruntime"); }
  std::unique_ptr<Session> open(const fs::path& model, const Settings& settings = {}, const OpenOptions& options = {}) {
    return EngineTest::open(engine(), model, settings, options);
  }
};

const Settings kBound = {{"output_binding", "on"}};

TEST_F(OnnxRuntimeEngine, PassesStringsInAndOut) {
  for (const Settings& settings : {Settings{}, kBound}) {
    const auto session = open(
        write_model("s (string[n] x) => (string[n,1] y) <int64[2] to = {-1, 1}> { y = Reshape(x, to) }"), settings);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->inputs()[0].dtype, DType::kString);
    for (const auto& texts : {std::vector<std::string>{"a", "", "\xe6\xbc\xa2"}, {"b"}, {}}) {
      const auto count = static_cast<int64_t>(texts.size());
      EXPECT_EQ(infer(*session, one("x", Tensor({count}, texts))), one("y", Tensor({count, 1}, texts)));
    }
  }
}

TEST_F(OnnxRuntimeEngine, ASequenceInputIsRefusedByName) {
  const fs::path model =
      write_model("q (seq(float[n]) parts) => (float[m] y) { y = ConcatFromSequence<axis=0>(parts) }");
  expect_one_line(engine().open(model, {}, {}), ErrorKind::kUnsupported, "input parts");
}

TEST_F(OnnxRuntimeEngine, ASequenceOutputIsFetchedPartByPart) {
  const fs::path model = write_model(
      "q (float[4] x) => (seq(float[n]) parts) <int64 two = {2}> { parts = SplitToSequence<axis=0>(x, two) }");
  for (const Settings& settings : {Settings{}, kBound}) {
    const auto session = open(model, settings);
    ASSERT_NE(session, nullptr);
    EXPECT_FALSE(session->outputs()[0].is_tensor);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto out = infer(*session, one("x", Tensor::of<float>({4}, {1, 2, 3, 4})));
      EXPECT_EQ(out, (NamedTensors{{"parts[0]", Tensor::of<float>({2}, {1, 2})},
                                   {"parts[1]", Tensor::of<float>({2}, {3, 4})}}));
    }
  }
}

TEST_F(OnnxRuntimeEngine, AMapOutputIsFetchedAsKeysAndValues) {
  const auto session =
      open(write_model("z (float[1,2] x) => (seq(map(int64, float)) p) "
                       "{ p = ai.onnx.ml.ZipMap<classlabels_int64s=[7, 9]>(x) }",
                       "\"\" : 17, \"ai.onnx.ml\" : 2"));
  ASSERT_NE(session, nullptr);
  const auto out = infer(*session, one("x", Tensor::of<float>({1, 2}, {0.25, 0.75})));
  EXPECT_EQ(out, (NamedTensors{{"p[0].keys", Tensor::of<int64_t>({2}, {7, 9})},
                               {"p[0].values", Tensor::of<float>({2}, {0.25, 0.75})}}));
}

TEST_F(OnnxRuntimeEngine, ASampleMaySetAnInitializerThatIsAlsoAnInput) {
  const auto session = open(write_model("o (float[1] x, float[1] w = {2}) => (float[1] y) { y = Mul(x, w) }"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->inputs().size(), 1u);
  const Tensor x = Tensor::of<float>({1}, {3});
  EXPECT_EQ(infer(*session, one("x", x)), one("y", Tensor::of<float>({1}, {6})));
  EXPECT_EQ(infer(*session, {{"x", x}, {"w", Tensor::of<float>({1}, {5})}}), one("y", Tensor::of<float>({1}, {15})));
}

TEST_F(OnnxRuntimeEngine, BoundOutputsFollowChangingShapes) {
  const fs::path model = write_model(
      "d (float[n] x, float[m] b) => (float[n] y, float[?] z, int64[1,k] nz) "
      "{ y = Neg(x)  z = Concat<axis=0>(x, b)  nz = NonZero(x) }");
  const auto bound = open(model, kBound), plain = open(model);
  ASSERT_TRUE(bound && plain);
  for (int round = 0; round < 3; ++round)
    for (const auto& [n, m] : std::vector<std::pair<int, int>>{{1, 2}, {3, 0}, {0, 4}, {3, 0}, {1, 2}, {2, 2}}) {
      std::vector<float> x(static_cast<size_t>(n), static_cast<float>(round)), b(static_cast<size_t>(m), 5);
      const NamedTensors sample{{"x", Tensor::of<float>({n}, x)}, {"b", Tensor::of<float>({m}, b)}};
      EXPECT_EQ(infer(*bound, sample), infer(*plain, sample)) << n << " " << m << " round " << round;
      ASSERT_TRUE(bound->run());
      EXPECT_EQ(*bound->fetch(), *plain->fetch());
    }
}

TEST_F(OnnxRuntimeEngine, BoundOutputsFollowMoreShapesThanAreKept) {
  const auto session = open(write_model("d (float[n] x) => (float[n] y) { y = Neg(x) }"), kBound);
  ASSERT_NE(session, nullptr);
  for (int round = 0; round < 2; ++round)
    for (int64_t n = 1; n < 30; ++n) {
      const std::vector<float> x(static_cast<size_t>(n), 2), y(static_cast<size_t>(n), -2);
      EXPECT_EQ(infer(*session, one("x", Tensor::of<float>({n}, x))), one("y", Tensor::of<float>({n}, y)));
    }
}

TEST_F(OnnxRuntimeEngine, BoundOutputsSurviveAModelThatDeclaresAWrongShape) {
  // The declared type says 2 rows, the nodes make 3: ONNX Runtime warns and runs.
  const fs::path model = write_model("w (float[k] x, int64[1] s) => (float[2] y) { y = Expand(x, s) }");
  const NamedTensors sample{{"x", Tensor::of<float>({1}, {4})}, {"s", Tensor::of<int64_t>({1}, {3})}};
  for (const Settings& settings : {Settings{}, kBound}) {
    const auto session = open(model, settings);
    ASSERT_NE(session, nullptr);
    for (int repeat = 0; repeat < 2; ++repeat)
      EXPECT_EQ(infer(*session, sample), one("y", Tensor::of<float>({3}, {4, 4, 4})));
  }
}

TEST_F(OnnxRuntimeEngine, TheSampleMayGoAfterBind) {
  for (const Settings& settings : {Settings{}, kBound}) {
    const auto session = open(write_model("d (float[n] x) => (float[n] y) { y = Neg(x) }"), settings);
    ASSERT_NE(session, nullptr);
    {
      const auto sample = one("x", Tensor::of<float>({2}, {1, 2}));
      ASSERT_TRUE(session->bind(sample));
    }
    for (int repeat = 0; repeat < 3; ++repeat) ASSERT_TRUE(session->run());
    EXPECT_EQ(*session->fetch(), one("y", Tensor::of<float>({2}, {-1, -2})));
  }
}

TEST_F(OnnxRuntimeEngine, TakesTensorsThatAreNotAligned) {
  auto bytes = std::make_shared<std::vector<std::byte>>(1 + 2 * sizeof(float));
  const float values[] = {1, 2};
  std::memcpy(bytes->data() + 1, values, sizeof values);
  const Tensor x(DType::kFloat, {2}, {bytes->data() + 1, sizeof values}, bytes);
  const auto session = open(write_model("d (float[2] x) => (float[2] y) { y = Neg(x) }"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(infer(*session, one("x", x)), one("y", Tensor::of<float>({2}, {-1, -2})));
}

TEST_F(OnnxRuntimeEngine, FreeDimensionsAreFixedByName) {
  const fs::path model = write_model("d (float[batch,3] x) => (float[batch,3] y) { y = Neg(x) }");
  const auto session = open(model, {{"free_dimension.batch", "2"}});
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(session->inputs()[0].dims, ElementsAre(2, 3));
  expect_one_line(session->bind(one("x", Tensor::of<float>({1, 3}, {1, 2, 3}))), ErrorKind::kBadInput, "takes 2x3");
}

TEST_F(OnnxRuntimeEngine, WritesTheOptimizedModel) {
  const fs::path model = write_model("d (float[2] x) => (float[2] y) { a = Identity(x)  b = Identity(a)  y = Neg(b) }");
  const fs::path optimized = folder() / "optimized.onnx";
  ASSERT_NE(open(model, {{"optimized_model", optimized.string()}}), nullptr);
  const auto loaded = model::Model::load(optimized);
  ASSERT_TRUE(loaded) << loaded.error().line();
  EXPECT_EQ(loaded->graph().node_count(), 1u);
}

TEST_F(OnnxRuntimeEngine, OptimizationsCanBeSwitchedOffAsAWholeAndOneByOne) {
  const fs::path model = write_model("d (float[2] x) => (float[2] y) { a = Identity(x)  y = Neg(a) }");
  const fs::path optimized = folder() / "optimized.onnx";
  const auto nodes_with = [&](Settings settings) {
    settings["optimized_model"] = optimized.string();
    EXPECT_NE(open(model, settings), nullptr);
    return model::Model::load(optimized)->graph().node_count();
  };
  EXPECT_EQ(nodes_with({}), 1u);
  EXPECT_EQ(nodes_with({{"graph_optimization", "disabled"}}), 2u);
  EXPECT_EQ(nodes_with({{"disabled_optimizers", "EliminateIdentity"}}), 2u);
  EXPECT_EQ(nodes_with({{"config.optimization.disable_specified_optimizers", "EliminateIdentity"}}), 2u);
}

TEST_F(OnnxRuntimeEngine, AValueOnnxRuntimeRefusesIsItsMessage) {
  const fs::path model = write_model("d (float[2] x) => (float[2] y) { y = Neg(x) }");
  expect_one_line(engine().open(model, {{"intra_op_affinity", "1;2;3;4;5"}, {"intra_op_threads", "2"}}, {}),
                  ErrorKind::kToolFailed, "ffinit");
  expect_one_line(engine().open(model, {{"custom_ops", "/absent.so"}}, {}), ErrorKind::kToolFailed, "absent.so");
  expect_one_line(engine().open(model, {{"config." + std::string(2000, 'k'), "1"}}, {}), ErrorKind::kToolFailed, "key");
}

TEST_F(OnnxRuntimeEngine, ReadsWeightsFromExternalData) {
  // Weights of 4 kB go to their own file.
  const auto w = [] {
    std::vector<float> values(1000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return values;
  }();
  const fs::path path = folder() / "external.onnx";
  auto built = model::Model::from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> e (float[1] x) => (float[1000] y) <float[1] w = {1}> { y = Mul(x, w) "
      "}");
  ASSERT_TRUE(built) << built.error().line();
  built->graph().set_constant(built->graph().find_value("w"), Tensor::of<float>({1000}, w));
  ASSERT_TRUE(built->save(path, {.weights = model::SaveOptions::Weights::kExternal}));
  ASSERT_GT(std::distance(fs::directory_iterator(folder()), {}), 1);
  const auto session = open(path);
  ASSERT_NE(session, nullptr);
  const auto out = infer(*session, one("x", Tensor::of<float>({1}, {2})));
  EXPECT_EQ(out[0].second.at<float>(999), 1998);
}

TEST_F(OnnxRuntimeEngine, MissingExternalDataIsOneLine) {
  const fs::path path = folder() / "external.onnx";
  auto built = model::Model::from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> e (float[1] x) => (float[1000] y) <float[1] w = {1}> { y = Mul(x, w) "
      "}");
  built->graph().set_constant(built->graph().find_value("w"), Tensor::of<float>({1000}, std::vector<float>(1000, 1)));
  const auto files = built->save(path, {.weights = model::SaveOptions::Weights::kExternal});
  ASSERT_TRUE(files && files->size() == 2);
  fs::remove(files->back());
  expect_one_line(engine().open(path, {}, {}), ErrorKind::kToolFailed, "external.onnx");
}

TEST_F(OnnxRuntimeEngine, AnUnknownOpsetIsItsMessage) {
  const fs::path model = write_model("d (float[2] x) => (float[2] y) { y = Neg(x) }", "\"\" : 99");
  expect_one_line(engine().open(model, {}, {}), ErrorKind::kToolFailed, "Opset 99");
}

}  // namespace
}  // namespace hone::engine
