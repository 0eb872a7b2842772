// The fake engine's promises to the tests of the loop: times, noise, trouble, errors, profile.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fstream>

#include "engine/engine_test_support.h"
#include "engine/fake/latency.h"
#include "engine/fake/rules.h"

namespace hone::engine {
namespace {

using model::Tensor;
using testing_support::EngineTest;
using testing_support::one;

constexpr const char* kModel = R"(m (float[2,3] x) => (float[2,3] y)
<float[3,3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}> { m = MatMul(x, w)  i = Identity(m)  y = Relu(i) })";
// MatMul 200, Identity 5, Relu 20, 10 outside of nodes.
constexpr double kTime = 235;
const Settings kQuiet = {{"fake.noise", "0"}, {"fake.instance_noise", "0"}};

class FakeEngine : public EngineTest {
 protected:
  const Engine& engine() const { return **find_engine("fake"); }

  std::unique_ptr<Session> bound(const fs::path& model, const Settings& settings, const OpenOptions& options = {}) {
    auto session = open(engine(), model, settings, options);
    EXPECT_TRUE(session && session->bind(one("x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}))));
    return session;
  }

  // Microseconds of one inference.
  double time_us(const fs::path& model, Settings settings, bool quiet = true, uint64_t seed = 0) {
    if (quiet) settings.insert(kQuiet.begin(), kQuiet.end());
    const auto session = bound(model, settings, {.instance_seed = seed});
    const int64_t before = session->clock().now_ns();
    EXPECT_TRUE(session->run());
    return static_cast<double>(session->clock().now_ns() - before) / 1000;
  }
};

TEST_F(FakeEngine, TimeIsTheSumOverTheNodesTimesTheFactorsOfTheSettings) {
  const fs::path model = write_model(kModel);
  EXPECT_NEAR(time_us(model, {}), kTime, 0.001);
  EXPECT_NEAR(time_us(model, {{"intra_op_threads", "2"}}), kTime / 1.2, 0.001);
  EXPECT_NEAR(time_us(model, {{"intra_op_threads", "2"}, {"process.huge_pages", "on"}}), kTime / 1.2 / 1.05, 0.001);
  EXPECT_NEAR(time_us(model, {{"intra_op_spinning", "off"}}), kTime * 1.1, 0.001);
  EXPECT_NEAR(time_us(model, {{"fake.speed", "2"}}), kTime / 2, 0.001);
}

TEST_F(FakeEngine, NoiseRepeatsWithTheSeedAndDiffersWithout) {
  const fs::path model = write_model(kModel);
  EXPECT_EQ(time_us(model, {}, false, 7), time_us(model, {}, false, 7));
  EXPECT_NE(time_us(model, {}, false, 7), time_us(model, {}, false, 8));
}

TEST_F(FakeEngine, NoiseHasTheSpreadThatWasAskedFor) {
  const auto session = bound(write_model(kModel), {{"fake.noise", "0.1"}, {"fake.instance_noise", "0"}});
  double sum = 0, squares = 0;
  constexpr int kRuns = 4000;
  for (int i = 0; i < kRuns; ++i) {
    const int64_t before = session->clock().now_ns();
    ASSERT_TRUE(session->run());
    const double y = std::log(static_cast<double>(session->clock().now_ns() - before) / 1000 / kTime);
    sum += y;
    squares += y * y;
  }
  EXPECT_NEAR(sum / kRuns, 0, 0.006);  // 4 standard errors
  EXPECT_NEAR(std::sqrt(squares / kRuns), 0.1, 0.005);
}

TEST_F(FakeEngine, ValuesAreThoseOfTheReferencePlusTheErrorThatWasAskedFor) {
  const fs::path model = write_model(kModel);
  const auto exact = bound(model, {});
  ASSERT_TRUE(exact->run());
  EXPECT_EQ(*exact->fetch(), one("y", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  const auto wrong = bound(model, {{"fake.error", "0.1"}});
  ASSERT_TRUE(wrong->run());
  const auto values = wrong->fetch()->front().second.values<float>();
  EXPECT_NEAR(values[0], 1.1, 1e-6);
  EXPECT_NEAR(values[1], 1.8, 1e-6);
}

TEST_F(FakeEngine, CrashesWhenAsked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // ONNX Runtime's threads do not survive a fork
  const fs::path model = write_model(kModel);
  EXPECT_DEATH(engine().open(model, {{"fake.crash", "open"}}, {}), "crash in open");
  EXPECT_DEATH(bound(model, {{"fake.crash", "run"}})->run(), "crash in run");
}

TEST_F(FakeEngine, RefusesWhenAsked) {
  testing_support::expect_one_line(engine().open(write_model(kModel), {{"fake.refuse", "on"}}, {}),
                                   ErrorKind::kToolFailed, "refused");
}

TEST_F(FakeEngine, RulesBesideTheModelActOnTheSettingsTheyName) {
  const fs::path model = write_model(kModel);
  std::ofstream(model.string() + ".fake.json")
      << R"({"latency_us": 1000, "rules": [{"if": {"intra_op_threads": 2, "memory_arena": "off"}, "set": {"fake.refuse": "on"}},
             {"if": {"output_binding": "on"}, "set": {"fake.speed": 4}}]})";
  EXPECT_NEAR(time_us(model, {}), 1000, 0.001);
  EXPECT_NEAR(time_us(model, {{"output_binding", "true"}}), 1000 / 1.01 / 4, 0.001);
  EXPECT_TRUE(engine().open(model, {{"intra_op_threads", "2"}}, {}));
  EXPECT_FALSE(engine().open(model, {{"intra_op_threads", "2"}, {"memory_arena", "false"}}, {}));
}

TEST_F(FakeEngine, RulesThatCannotBeReadAreAnError) {
  const fs::path model = write_model(kModel);
  std::ofstream(model.string() + ".fake.json") << R"({"rules": [{"set": {}}]})";
  testing_support::expect_one_line(engine().open(model, {}, {}), ErrorKind::kBadInput, "if");
}

TEST_F(FakeEngine, RulesOfTheEnvironmentHoldForEveryModel) {
  const fs::path rules = folder() / "rules.json";
  std::ofstream(rules) << R"({"latency_us": 77})";
  setenv("HONE_FAKE_RULES", rules.c_str(), 1);
  const double us = time_us(write_model(kModel), {});
  unsetenv("HONE_FAKE_RULES");
  EXPECT_NEAR(us, 77, 0.001);
}

TEST_F(FakeEngine, TheProfilesNodesAddUpToTheInferences) {
  const auto session = bound(write_model(kModel), {}, {.profile_dir = folder()});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(session->run());
  const auto events = *read_json(session->end_profile()->files.front());
  int64_t nodes = 0, runs = 0;
  int node_count = 0;
  for (const Json& event : events) {
    if (event["cat"] == "Node") {
      nodes += event["dur"].get<int64_t>();
      ++node_count;
      EXPECT_EQ(event["args"]["provider"], "FakeExecutionProvider");
    }
    if (event["name"] == "model_run") runs += event["dur"].get<int64_t>();
  }
  EXPECT_EQ(node_count, 15);
  EXPECT_NEAR(static_cast<double>(nodes), static_cast<double>(runs) * 225 / 235, 10);
}

}  // namespace
}  // namespace hone::engine
