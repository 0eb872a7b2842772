// Validation, process settings, Configuration as JSON, look-up of engines.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/engine_test_support.h"

namespace hone::engine {
namespace {

using ::testing::HasSubstr;
using testing_support::expect_one_line;

const Engine& ort() { return **find_engine("onnxruntime"); }

TEST(Settings, AMistypedIdIsAnsweredWithTheNearestOne) {
  expect_one_line(validate(ort(), {{"intra_op_thread", "1"}}), ErrorKind::kUsage, "did you mean intra_op_threads?");
  expect_one_line(validate(ort(), {{"process.huge_page", "1"}}), ErrorKind::kUsage, "did you mean process.huge_pages?");
  expect_one_line(validate(ort(), {{"zzz", "1"}}), ErrorKind::kUsage, "known settings: intra_op_threads, ");
}

TEST(Settings, AMistypedValueIsAnsweredWithWhatIsExpected) {
  expect_one_line(validate(ort(), {{"graph_optimization", "extendet"}}), ErrorKind::kUsage, "did you mean extended?");
  expect_one_line(validate(ort(), {{"execution_mode", "x"}}), ErrorKind::kUsage, "one of sequential, parallel");
  expect_one_line(validate(ort(), {{"memory_arena", "maybe"}}), ErrorKind::kUsage, "\"maybe\"; on or off");
  for (const char* bad : {"-1", "1.5", "2 ", "", "99999999999", "two", "0x2"})
    expect_one_line(validate(ort(), {{"intra_op_threads", bad}}), ErrorKind::kUsage, "a whole number from 0");
}

TEST(Settings, GoodValuesAreTaken) {
  for (const char* word : {"on", "off", "true", "false", "1", "0"})
    EXPECT_TRUE(validate(ort(), {{"memory_arena", word}}));
  EXPECT_TRUE(validate(ort(), {{"intra_op_threads", "0"}, {"config.session.any_key", "x"}, {"free_dimension.n", "4"}}));
  const Engine& openvino = **find_engine("openvino");
  EXPECT_TRUE(validate(openvino, {{"num_streams", "auto"}, {"shape.x", "1x3"}, {"num_streams", "2"}}));
}

TEST(Settings, AFamilyNeedsAName) {
  EXPECT_FALSE(validate(ort(), {{"config.", "x"}}));
  EXPECT_FALSE(validate(ort(), {{"config", "x"}}));
  EXPECT_FALSE(validate(ort(), {{"free_dimension.n", "many"}}));
}

TEST(Settings, HugePagesAndArenasBecomeOneTunable) {
  EXPECT_TRUE(process_environment({}).empty());
  EXPECT_TRUE(process_environment({{"process.huge_pages", "off"}, {"process.malloc_arena_max", "0"}}).empty());
  EXPECT_EQ(process_environment({{"process.huge_pages", "true"}}).at("GLIBC_TUNABLES"), "glibc.malloc.hugetlb=1");
  EXPECT_EQ(process_environment({{"process.huge_pages", "on"}, {"process.malloc_arena_max", "2"}}, "glibc.a=b")
                .at("GLIBC_TUNABLES"),
            "glibc.a=b:glibc.malloc.hugetlb=1:glibc.malloc.arena_max=2");
}

TEST(Engines, AnUnknownNameIsAnsweredWithTheNearestOrTheKnownOnes) {
  expect_one_line(find_engine("onnxrt"), ErrorKind::kUsage, "unknown engine: onnxrt");
  expect_one_line(find_engine("onnxruntim"), ErrorKind::kUsage, "did you mean onnxruntime?");
  const auto none = find_engine("tensorrt");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().line(), HasSubstr("known engines: onnxruntime, openvino"));
  EXPECT_THAT(none.error().line(), ::testing::Not(HasSubstr("fake")));
}

TEST(Engines, IdsAreUniqueAndOnlyTheFakeOneIsHidden) {
  std::set<std::string_view> ids;
  for (const Engine* engine : all_engines()) {
    EXPECT_TRUE(ids.insert(engine->id()).second);
    EXPECT_EQ(hidden(*engine), engine->id() == "fake");
  }
}

TEST(Configuration, SurvivesJson) {
  const Configuration configuration{"openvino", "/a/b.onnx", {{"inference_precision", "bf16"}, {"shape.x", "1x3"}}};
  const auto back = Configuration::from_json(configuration.to_json());
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, configuration);
}

TEST(Configuration, TakesNumbersAndBooleansWrittenByHand) {
  const auto read = Configuration::from_json({{"engine", "onnxruntime"},
                                              {"model", "m.onnx"},
                                              {"settings", {{"intra_op_threads", 2}, {"memory_arena", false}}}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings, (Settings{{"intra_op_threads", "2"}, {"memory_arena", "off"}}));
}

TEST(Configuration, BadJsonNamesTheField) {
  expect_one_line(Configuration::from_json({{"engine", "x"}}), ErrorKind::kBadInput, "model");
  expect_one_line(Configuration::from_json({{"engine", "x"}, {"model", "m"}, {"settings", {{"a", Json::array()}}}}),
                  ErrorKind::kBadInput, ": a");
  expect_one_line(Configuration::from_json({{"engine", "x"}, {"model", "m"}, {"settings", 3}}), ErrorKind::kBadInput,
                  "settings");
  EXPECT_FALSE(Configuration::from_json(Json::array()));
}

TEST(Configuration, TheAccuracyReferenceIsOnnxRuntimeWithoutOptimizations) {
  const Configuration reference = accuracy_reference("m.onnx");
  EXPECT_EQ(reference.engine, "onnxruntime");
  EXPECT_EQ(reference.settings.at("graph_optimization"), "disabled");
  EXPECT_TRUE(validate(ort(), reference.settings));
}

}  // namespace
}  // namespace hone::engine
