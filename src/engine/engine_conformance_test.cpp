// What every engine promises, tested for all of engines.def.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

constexpr const char* kAffine = R"(affine (float[2,3] x) => (float[2,3] y)
<float[3] w = {1, 2, 3}, float[3] b = {0.5, 0, -1}> { m = Mul(x, w)  y = Add(m, b) })";
constexpr const char* kDynamic = R"(dynamic (float[n,3] x) => (float[n,3] y)
<float[3] w = {1, 2, 3}> { y = Mul(x, w) })";

class EngineConformance : public EngineTest, public ::testing::WithParamInterface<const Engine*> {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (!engine().probe().available) GTEST_SKIP() << engine().probe().reason;
  }
  const Engine& engine() const { return *GetParam(); }
  std::unique_ptr<Session> open(const fs::path& model, const Settings& settings = {}, const OpenOptions& options = {}) {
    return EngineTest::open(engine(), model, settings, options);
  }
};

// {0, 1, 1, 0} in any type.
Tensor zeros_and_ones(DType dtype) {
  std::span<std::byte> bytes;
  Tensor out = Tensor::make(dtype, {2, 2}, &bytes);
  const size_t size = bytes.size() / 4;
  // The bit pattern of 1: floats by the top of their bits, integers by the bottom.
  uint64_t pattern = 1;
  if (dtype == DType::kFloat) pattern = 0x3f800000;
  if (dtype == DType::kDouble) pattern = 0x3ff0000000000000;
  if (dtype == DType::kFloat16) pattern = 0x3c00;
  if (dtype == DType::kBfloat16) pattern = 0x3f80;
  for (const size_t i : {1, 2}) std::memcpy(bytes.data() + i * size, &pattern, size);
  return out;
}

TEST_P(EngineConformance, ProbeTellsAVersionAndDetails) {
  const Capabilities capabilities = engine().probe();
  EXPECT_FALSE(capabilities.version.empty());
  EXPECT_FALSE(capabilities.details.empty());
}

TEST_P(EngineConformance, IsFoundByItsName) {
  const auto found = find_engine(engine().id());
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, &engine());
}

TEST_P(EngineConformance, EverySettingIsDocumentedAndItsDefaultAndChoicesAreValid) {
  for (const SettingInfo& info : engine().settings()) {
    SCOPED_TRACE(info.id);
    EXPECT_GT(info.doc.size(), 15u);
    EXPECT_THAT(info.type, ::testing::AnyOf("int", "float", "bool", "enum", "string"));
    EXPECT_FALSE(info.type == "enum" && info.choices.empty());
    const std::string id = info.id.ends_with(".*") ? info.id.substr(0, info.id.size() - 1) + "x" : info.id;
    std::vector<std::string> values = info.choices;
    if (!info.default_value.empty()) values.push_back(info.default_value);
    for (const auto& value : values) {
      const Status status = validate(engine(), {{id, value}});
      EXPECT_TRUE(status) << status.error().line();
    }
  }
}

TEST_P(EngineConformance, RefusesASettingItDoesNotDeclare) {
  expect_one_line(engine().open(write_model(kAffine), {{"no_such_setting_at_all", "1"}}, {}), ErrorKind::kUsage,
                  "no_such_setting_at_all");
}

TEST_P(EngineConformance, IgnoresSettingsOfTheProcess) {
  EXPECT_NE(open(write_model(kAffine), {{"process.huge_pages", "on"}}), nullptr);
}

TEST_P(EngineConformance, TellsInputsAndOutputs) {
  const auto session = open(write_model(kDynamic));
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->inputs().size(), 1u);
  EXPECT_EQ(session->inputs()[0].name, "x");
  EXPECT_EQ(session->inputs()[0].dtype, DType::kFloat);
  EXPECT_THAT(session->inputs()[0].dims, ElementsAre(-1, 3));
  ASSERT_EQ(session->outputs().size(), 1u);
  EXPECT_EQ(session->outputs()[0].name, "y");
}

TEST_P(EngineConformance, ComputesTheRightValues) {
  const auto session = open(write_model(kAffine));
  ASSERT_NE(session, nullptr);
  const auto out = infer(*session, one("x", Tensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 10})));
  EXPECT_EQ(out, one("y", Tensor::of<float>({2, 3}, {1.5, 4, 8, -0.5, 0, 29})));
}

TEST_P(EngineConformance, SameInputsGiveSameOutputs) {
  const auto session = open(write_model(kAffine));
  ASSERT_NE(session, nullptr);
  const auto sample = one("x", Tensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 10}));
  const auto first = infer(*session, sample);
  ASSERT_TRUE(session->run());
  EXPECT_EQ(*session->fetch(), first);
  EXPECT_NE(infer(*session, one("x", Tensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 11}))), first);
  EXPECT_EQ(infer(*session, sample), first);
}

TEST_P(EngineConformance, FetchedOutputsAreCopies) {
  const auto session = open(write_model(kAffine));
  ASSERT_NE(session, nullptr);
  const auto first = infer(*session, one("x", Tensor::of<float>({2, 3}, {1, 1, 1, 1, 1, 1})));
  infer(*session, one("x", Tensor::of<float>({2, 3}, {9, 9, 9, 9, 9, 9})));
  EXPECT_EQ(first, one("y", Tensor::of<float>({2, 3}, {1.5, 2, 2, 1.5, 2, 2})));
}

TEST_P(EngineConformance, TakesAnyShapeOfADynamicModelInAnyOrder) {
  const auto session = open(write_model(kDynamic));
  ASSERT_NE(session, nullptr);
  for (const int64_t rows : {1, 4, 2, 4, 1, 0, 3}) {
    SCOPED_TRACE(rows);
    std::vector<float> x(static_cast<size_t>(rows) * 3), want(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i);
      want[i] = x[i] * static_cast<float>(i % 3 + 1);
    }
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto out = infer(*session, one("x", Tensor::of<float>({rows, 3}, x)));
      ASSERT_EQ(out.size(), 1u);
      EXPECT_THAT(out[0].second.dims(), ElementsAre(rows, 3));
      EXPECT_EQ(out, one("y", Tensor::of<float>({rows, 3}, want)));
    }
  }
}

TEST_P(EngineConformance, OutputsComeInTheModelsOrderWithItsNames) {
  const auto session = open(write_model(R"(three (float[2] x) => (float[2] z, float[2] a, float[2] m)
    { m = Add(x, x)  a = Neg(x)  z = Mul(m, x) })"));
  ASSERT_NE(session, nullptr);
  const auto out = infer(*session, one("x", Tensor::of<float>({2}, {3, 4})));
  EXPECT_EQ(out, (NamedTensors{{"z", Tensor::of<float>({2}, {18, 32})},
                               {"a", Tensor::of<float>({2}, {-3, -4})},
                               {"m", Tensor::of<float>({2}, {6, 8})}}));
}

TEST_P(EngineConformance, TakesInputsInAnyOrderAndIgnoresTensorsItHasNoInputFor) {
  const auto session = open(write_model("sub (float[1] a, float[1] b) => (float[1] y) { y = Sub(a, b) }"));
  ASSERT_NE(session, nullptr);
  const auto out = infer(
      *session,
      {{"extra", Tensor::of<float>({1}, {0})}, {"b", Tensor::of<float>({1}, {2})}, {"a", Tensor::of<float>({1}, {5})}});
  EXPECT_EQ(out, one("y", Tensor::of<float>({1}, {3})));
}

TEST_P(EngineConformance, AnOutputWhoseShapeDependsOnTheDataIsRight) {
  const auto session =
      open(write_model("nz (float[4] x) => (int64[1,k] y, float[4] z) { y = NonZero(x)  z = Neg(x) }"));
  ASSERT_NE(session, nullptr);
  for (int repeat = 0; repeat < 2; ++repeat) {
    auto out = infer(*session, one("x", Tensor::of<float>({4}, {0, 1, 0, 1})));
    EXPECT_EQ(out[0].second, Tensor::of<int64_t>({1, 2}, {1, 3}));
    out = infer(*session, one("x", Tensor::of<float>({4}, {1, 1, 0, 1})));
    EXPECT_EQ(out[0].second, Tensor::of<int64_t>({1, 3}, {0, 1, 3}));
    EXPECT_EQ(out[1].second, Tensor::of<float>({4}, {-1, -1, -0.0f, -1}));
    out = infer(*session, one("x", Tensor::of<float>({4}, {0, 0, 0, 0})));
    EXPECT_THAT(out[0].second.dims(), ElementsAre(1, 0));
  }
}

TEST_P(EngineConformance, PassesTensorsOfEveryCommonType) {
  for (const DType dtype :
       {DType::kFloat, DType::kDouble, DType::kFloat16, DType::kBfloat16, DType::kInt8, DType::kUint8, DType::kInt16,
        DType::kUint16, DType::kInt32, DType::kUint32, DType::kInt64, DType::kUint64, DType::kBool}) {
    SCOPED_TRACE(model::dtype_name(dtype));
    const std::string word = dtype == DType::kFloat ? "float" : model::dtype_name(dtype);
    const std::string type = (word == "float32" ? "float" : word == "float64" ? "double" : word) + "[2,2]";
    const auto session = open(write_model("id (" + type + " x, int64[2] s) => (" + type + " y) { y = Reshape(x, s) }"));
    if (session == nullptr) continue;
    const Tensor x = zeros_and_ones(dtype);
    const auto out = infer(*session, {{"x", x}, {"s", Tensor::of<int64_t>({2}, {2, 2})}});
    EXPECT_EQ(out, one("y", x));
  }
}

TEST_P(EngineConformance, TakesScalars) {
  const auto session = open(write_model("scalar (float x) => (float y) { y = Neg(x) }"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(infer(*session, one("x", Tensor::scalar<float>(3))), one("y", Tensor::scalar<float>(-3)));
}

TEST_P(EngineConformance, RunsAModelWithoutInputs) {
  const auto session = open(write_model("none () => (float[2] y) <float[2] w = {1, 2}> { y = Add(w, w) }"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(infer(*session, {}), one("y", Tensor::of<float>({2}, {2, 4})));
}

TEST_P(EngineConformance, RunsAModelWithoutNodes) {
  const auto session = open(write_model("empty (float[2] x) => (float[2] x) { }"));
  ASSERT_NE(session, nullptr);
  for (const float v : {1.f, 2.f, 3.f})
    EXPECT_EQ(infer(*session, one("x", Tensor::of<float>({2}, {v, v}))), one("x", Tensor::of<float>({2}, {v, v})));
}

TEST_P(EngineConformance, RunsAModelWithoutNodesAndWithDynamicShape) {
  const auto session = open(write_model("empty (float[n] x) => (float[n] x) { }"));
  ASSERT_NE(session, nullptr);
  for (const float v : {1.f, 2.f, 3.f}) {
    auto sample = one("x", Tensor::of<float>({2}, {v, v}));
    EXPECT_EQ(infer(*session, sample), sample);
    sample.clear();
    ASSERT_TRUE(session->run());
    EXPECT_EQ(*session->fetch(), one("x", Tensor::of<float>({2}, {v, v})));
  }
}

TEST_P(EngineConformance, AWrongSampleIsOneLineThatNamesTheInput) {
  const auto session = open(write_model(kAffine));
  ASSERT_NE(session, nullptr);
  expect_one_line(session->bind({}), ErrorKind::kBadInput, "x");
  expect_one_line(session->bind(one("x", Tensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}))), ErrorKind::kBadInput,
                  "wrong dtype int32, the model takes float32: input x");
  expect_one_line(session->bind(one("x", Tensor::of<float>({3}, {1, 2, 3}))), ErrorKind::kBadInput,
                  "wrong shape 3, the model takes 2x3: input x");
  expect_one_line(session->bind(one("x", Tensor::of<float>({1, 3}, {1, 2, 3}))), ErrorKind::kBadInput, "input x");
}

TEST_P(EngineConformance, RunWithoutSampleIsAnErrorAndNotACrash) {
  const auto session = open(write_model(kAffine));
  ASSERT_NE(session, nullptr);
  EXPECT_FALSE(session->run());
  EXPECT_FALSE(session->fetch());
  EXPECT_FALSE(session->end_profile());
}

TEST_P(EngineConformance, AFileThatIsNoModelIsOneLineThatNamesIt) {
  const fs::path garbage = folder() / "garbage.onnx";
  std::ofstream(garbage) << std::string(1000, '\xff');
  expect_one_line(engine().open(garbage, {}, {}), ErrorKind::kToolFailed, "garbage.onnx");
  const fs::path empty = folder() / "empty.onnx";
  std::ofstream{empty};
  expect_one_line(engine().open(empty, {}, {}), ErrorKind::kBadInput, "the model file is empty: ");
  expect_one_line(engine().open(folder() / "absent.onnx", {}, {}), ErrorKind::kBadInput, "absent.onnx");
  expect_one_line(engine().open(folder(), {}, {}), ErrorKind::kBadInput, "a folder, not a model file");
}

TEST_P(EngineConformance, AModelItRefusesIsOneLineWithTheReason) {
  expect_one_line(engine().open(write_model("odd (float[1] x) => (float[1] y) { y = NoSuchOperator(x) }"), {}, {}),
                  ErrorKind::kToolFailed, "NoSuchOperator");
}

TEST_P(EngineConformance, AnInferenceThatFailsIsOneLineAndTheSessionGoesOn) {
  const auto session = open(write_model("r (float[n] x, int64[2] s) => (float[?,?] y) { y = Reshape(x, s) }"));
  ASSERT_NE(session, nullptr);
  const Tensor x = Tensor::of<float>({4}, {1, 2, 3, 4});
  EXPECT_EQ(infer(*session, {{"x", x}, {"s", Tensor::of<int64_t>({2}, {2, 2})}})[0].second.dims().size(), 2u);
  ASSERT_TRUE(session->bind({{"x", x}, {"s", Tensor::of<int64_t>({2}, {3, 2})}}));
  expect_one_line(session->run(), ErrorKind::kToolFailed, "eshape");
  EXPECT_THAT(infer(*session, {{"x", x}, {"s", Tensor::of<int64_t>({2}, {4, 1})}})[0].second.dims(), ElementsAre(4, 1));
}

TEST_P(EngineConformance, WritesAProfileThatIsJson) {
  const fs::path profiles = folder() / "profiles";
  fs::create_directories(profiles);
  const auto session = open(write_model(kAffine), {}, {.profile_dir = profiles});
  ASSERT_NE(session, nullptr);
  const auto sample = one("x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  for (int i = 0; i < 3; ++i) infer(*session, sample);
  const auto profile = session->end_profile();
  ASSERT_TRUE(profile) << profile.error().line();
  EXPECT_EQ(profile->iterations, 3);
  ASSERT_EQ(profile->files.size(), 1u);
  EXPECT_EQ(profile->files[0].parent_path(), profiles);
  const auto json = read_json(profile->files[0]);
  ASSERT_TRUE(json) << json.error().line();
  EXPECT_FALSE(json->empty());
  EXPECT_FALSE(engine().profile_format().empty());
}

TEST_P(EngineConformance, AProfileFolderThatDoesNotExistIsAnError) {
  const auto session = engine().open(write_model(kAffine), {}, {.profile_dir = folder() / "absent"});
  expect_one_line(session, ErrorKind::kIo, "absent");
}

TEST_P(EngineConformance, EveryBoolAndEnumSettingKeepsTheValuesRight) {
  const fs::path model = write_model(kAffine);
  const std::vector<double> want = {1.5, 4, 8, -0.5, 0, 29};
  for (const SettingInfo& info : engine().settings()) {
    if (info.id.starts_with("fake.")) continue;  // trouble on order
    std::vector<std::string> values = info.choices;
    if (info.type == "bool") values = {"on", "off"};
    for (const auto& value : values) {
      SCOPED_TRACE(info.id + "=" + value);
      auto session = engine().open(model, {{info.id, value}}, {});
      if (!session) {
        // A value may need other hardware (f16 on a CPU without it); then it says so in one line.
        expect_one_line(session, ErrorKind::kToolFailed, info.id);
        continue;
      }
      const auto out = infer(**session, one("x", Tensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 10})));
      ASSERT_EQ(out.size(), 1u);
      const double tolerance = info.lossy ? 0.3 : 0;  // bfloat16 has 8 bits: 29 * 2^-7 is 0.23
      EXPECT_THAT(*out[0].second.to_doubles(), ::testing::Pointwise(::testing::DoubleNear(tolerance), want));
    }
  }
}

TEST_P(EngineConformance, TwoSessionsDoNotDisturbEachOther) {
  const fs::path model = write_model(kAffine);
  const auto a = open(model), b = open(model);
  ASSERT_TRUE(a && b);
  const auto x = one("x", Tensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 10}));
  const auto y = one("x", Tensor::of<float>({2, 3}, {4, 5, 6, 7, 8, 9}));
  ASSERT_TRUE(a->bind(x) && b->bind(y) && a->run() && b->run());
  EXPECT_EQ(*a->fetch(), infer(*b, x));
}

TEST_P(EngineConformance, ItsClockGoesForwardByTheTimeOfAnInference) {
  const auto session = open(write_model(kAffine));
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->bind(one("x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}))));
  const int64_t before = session->clock().now_ns();
  ASSERT_TRUE(session->run());
  EXPECT_GT(session->clock().now_ns(), before);
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineConformance, ::testing::ValuesIn(all_engines()),
                         [](const auto& info) { return std::string(info.param->id()); });

}  // namespace
}  // namespace hone::engine
