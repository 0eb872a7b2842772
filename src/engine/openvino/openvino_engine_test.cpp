// What only the openvino engine does: fixed shapes, precisions, cache, properties by name, its profile document.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>

#include "engine/engine_test_support.h"
#include "engine/openvino/loader.h"
#include "engine/openvino/options.h"
#include "engine/openvino/profile_writer.h"

namespace hone::engine {
namespace {

using model::Tensor;
using ::testing::ElementsAre;
using testing_support::EngineTest;
using testing_support::expect_one_line;
using testing_support::one;

constexpr const char* kDynamic = R"(d (float[n,3] x) => (float[n,3] y) <float[3] w = {1, 2, 3}> { y = Mul(x, w) })";

class OpenVinoEngine : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (!engine().probe().available) GTEST_SKIP() << engine().probe().reason;
  }
  const Engine& engine() const { return **find_engine("openvino"); }
  std::unique_ptr<Session> open(const fs::path& model, const Settings& settings = {}, const OpenOptions& options = {}) {
    return EngineTest::open(engine(), model, settings, options);
  }
};

TEST_F(OpenVinoEngine, IsCompiledForTheShapesItIsGiven) {
  const auto session = open(write_model(kDynamic), {{"shape.x", "2x3"}});
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(session->inputs()[0].dims, ElementsAre(2, 3));
  EXPECT_THAT(session->outputs()[0].dims, ElementsAre(2, 3));
  EXPECT_EQ(infer(*session, one("x", Tensor::of<float>({2, 3}, {1, 1, 1, 2, 2, 2}))),
            one("y", Tensor::of<float>({2, 3}, {1, 2, 3, 2, 4, 6})));
  expect_one_line(session->bind(one("x", Tensor::of<float>({1, 3}, {1, 1, 1}))), ErrorKind::kBadInput, "takes 2x3");
}

TEST_F(OpenVinoEngine, ShapesMayStayDynamic) {
  const fs::path model = write_model(kDynamic);
  EXPECT_THAT(open(model, {{"shape.x", "?x3"}})->inputs()[0].dims, ElementsAre(-1, 3));
  EXPECT_THAT(open(model, {{"shape.x", "2x3"}, {"static_shapes", "off"}})->inputs()[0].dims, ElementsAre(-1, 3));
}

TEST_F(OpenVinoEngine, AShapeThatDoesNotFitIsOneLine) {
  const fs::path model = write_model(kDynamic);
  expect_one_line(engine().open(model, {{"shape.x", "2x"}}, {}), ErrorKind::kUsage, "dims like 1x3x224x224");
  expect_one_line(engine().open(model, {{"shape.x", "2*3"}}, {}), ErrorKind::kUsage, "shape.x");
  expect_one_line(engine().open(model, {{"shape.xx", "2x3"}}, {}), ErrorKind::kUsage, "no such input: xx");
  expect_one_line(engine().open(model, {{"shape.x", "2x4"}}, {}), ErrorKind::kToolFailed, "openvino: ");
}

TEST_F(OpenVinoEngine, AStringInputIsRefusedByName) {
  const fs::path model = write_model("s (string[2] words) => (string[2] y) { y = Identity(words) }");
  const auto session = engine().open(model, {}, {});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().line(), ::testing::HasSubstr("openvino: "));
}

TEST_F(OpenVinoEngine, PropertiesAreTakenByTheirOwnName) {
  const fs::path model = write_model(kDynamic);
  EXPECT_NE(open(model, {{"property.ENABLE_CPU_RESERVATION", "NO"}}), nullptr);
  expect_one_line(engine().open(model, {{"property.NO_SUCH_THING", "1"}}, {}), ErrorKind::kToolFailed, "NO_SUCH_THING");
}

TEST_F(OpenVinoEngine, CompiledModelsAreKeptInTheCacheFolder) {
  const fs::path cache = folder() / "cache", model = write_model(kDynamic);
  for (int i = 0; i < 2; ++i) {
    const auto session = open(model, {{"cache_dir", cache.string()}, {"shape.x", "1x3"}});
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(infer(*session, one("x", Tensor::of<float>({1, 3}, {1, 1, 1}))),
              one("y", Tensor::of<float>({1, 3}, {1, 2, 3})));
  }
  EXPECT_FALSE(fs::is_empty(cache));
}

TEST_F(OpenVinoEngine, ComputesInFloat32UnlessAskedOtherwise) {
  // 1 + 2^-10 is lost in bfloat16; the product tells which was used.
  const fs::path model =
      write_model("p (float[1,4] x) => (float[1,1] y) <float[4,1] w = {1, 0, 0, 0}> { y = MatMul(x, w) }");
  const auto session = open(model);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(infer(*session, one("x", Tensor::of<float>({1, 4}, {1 + 1.f / 1024, 0, 0, 0}))),
            one("y", Tensor::of<float>({1, 1}, {1 + 1.f / 1024})));
}

TEST_F(OpenVinoEngine, TheProfileNamesTheModelsNodes) {
  const auto session = open(write_model("p (float[8,64] x) => (float[8,64] y) { t = Softmax(x)  y = Exp(t) }"), {},
                            {.profile_dir = folder()});
  ASSERT_NE(session, nullptr);
  const auto sample = one("x", Tensor::of<float>({8, 64}, std::vector<float>(512, 1)));
  for (int i = 0; i < 4; ++i) infer(*session, sample);
  const auto document = *read_json(session->end_profile()->files.front());
  EXPECT_EQ(document["schema"], "hone.openvino_profile/1");
  EXPECT_EQ(document["iterations"].size(), 3u);  // without the first
  EXPECT_GT(document["iterations"][0]["wall_ns"].get<int64_t>(), 0);
  std::set<std::string> originals;
  for (const Json& node : document["nodes"]) {
    EXPECT_GE(node["mean_ns"].get<int64_t>(), 0);
    for (const Json& name : node.value("original", Json::array())) originals.insert(name.get<std::string>());
    if (node["type"] == "Softmax") {
      EXPECT_EQ(node["inputs"][0], (Json{{"dtype", "float32"}, {"dims", {8, 64}}}));
    }
  }
  EXPECT_THAT(originals, ::testing::IsSupersetOf({"t", "y"}));
}

TEST(OpenVinoProfile, TheFirstInferenceIsTakenOutOfTheMean) {
  EXPECT_EQ(openvino::mean_ns(100, 28, 10), 20'000);  // 100, then nine times 20
  EXPECT_EQ(openvino::mean_ns(7, 7, 1), 7'000);
  EXPECT_EQ(openvino::mean_ns(0, 0, 0), 0);
  EXPECT_EQ(openvino::mean_ns(5, 1, 3), 0);  // rounding
}

TEST(OpenVinoOptions, LossyDefaultsOfOpenVinoAreSwitchedOff) {
  const auto request = openvino::open_request("m.onnx", {}, {});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->properties.at("INFERENCE_PRECISION_HINT"), "f32");
  EXPECT_EQ(request->properties.at("DYNAMIC_QUANTIZATION_GROUP_SIZE"), "0");
  EXPECT_EQ(request->properties.at("KV_CACHE_PRECISION"), "f32");
}

TEST(OpenVinoOptions, WordsBecomeOpenVinosWords) {
  const auto request = openvino::open_request("m.onnx",
                                              {{"performance_hint", "none"},
                                               {"enable_cpu_pinning", "true"},
                                               {"num_streams", "auto"},
                                               {"scheduling_core_type", "pcore_only"},
                                               {"tbb_partitioner", "auto"},
                                               {"shape.x", "1x?x3"},
                                               {"shape.s", "scalar"}},
                                              {});
  ASSERT_TRUE(request);
  EXPECT_FALSE(request->properties.contains("PERFORMANCE_HINT"));
  EXPECT_EQ(request->properties.at("ENABLE_CPU_PINNING"), "YES");
  EXPECT_EQ(request->properties.at("NUM_STREAMS"), "AUTO");
  EXPECT_EQ(request->properties.at("SCHEDULING_CORE_TYPE"), "PCORE_ONLY");
  EXPECT_EQ(request->properties.at("TBB_PARTITIONER"), "AUTO");
  EXPECT_THAT(request->shapes.at("x"), ElementsAre(1, -1, 3));
  EXPECT_TRUE(request->shapes.at("s").empty());
}

TEST(OpenVinoLoader, APluginThatDoesNotLoadIsAReasonAndNotACrash) {
  // In a process of its own: the plugin is loaded once per process.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("HONE_OPENVINO_PLUGIN", "/absent/plugin.so", 1);
        const Capabilities capabilities = (*find_engine("openvino"))->probe();
        fmt::print(stderr, "{}\n", capabilities.reason);
        std::exit(capabilities.available ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "OpenVINO does not load: .*absent");
}

}  // namespace
}  // namespace hone::engine
