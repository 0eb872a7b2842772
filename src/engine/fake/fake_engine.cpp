// The fake engine: for tests of what is built on engines (workers, measuring, the loop), fast and repeatable.
//
// Its time is a hidden latency model on a clock of its own (latency.h), its values are real (session.h), its trouble
// is on order (fake.crash, fake.hang, rules.h). Settings that it shares with onnxruntime have onnxruntime's ids, so
// that the same Changes work on it. It is hidden: doctor and the loop do not offer it unless HONE_FAKE_ENGINE=1.
// SPDX-License-Identifier: Apache-2.0
#include "engine/checks.h"
#include "engine/engine.h"
#include "engine/fake/session.h"

namespace hone::engine {

namespace {

// clang-format off
const std::vector<SettingInfo>& fake_settings() {
  static const std::vector<SettingInfo> table = {
      {"intra_op_threads", "int", "1", {}, "Fake: 2 is 1.2 x faster, 4 is 1.25 x, more is 1.1 x"},
      {"inter_op_threads", "int", "1", {}, "Fake: makes no difference"},
      {"intra_op_spinning", "bool", "on", {}, "Fake: off takes 1.1 x the time"},
      {"execution_mode", "enum", "sequential", {"sequential", "parallel"}, "Fake: parallel takes 1.05 x the time"},
      {"graph_optimization", "enum", "all", {"disabled", "basic", "extended", "layout", "all"}, "Fake: disabled takes 1.3 x the time, basic 1.1 x, extended 1.02 x"},
      {"memory_pattern", "bool", "on", {}, "Fake: off takes 1.02 x the time"},
      {"memory_arena", "bool", "on", {}, "Fake: off takes 1.04 x the time"},
      {"output_binding", "bool", "off", {}, "Fake: on is 1.01 x faster, less than can be proven"},
      {"dynamic_block_base", "int", "0", {}, "Fake: any number is 1.04 x faster"},
      {"denormals_as_zero", "bool", "off", {}, "Fake: makes no difference"},
      {"prepacking", "bool", "on", {}, "Fake: makes no difference"},
      {"gelu_approximation", "bool", "off", {}, "Fake: on is 1.02 x faster, with a relative error of 1e-5", true},
      {"fake.speed", "float", "1", {}, "Fake: so many times faster"},
      {"fake.noise", "float", "0.01", {}, "Fake: spread of single inferences (standard deviation of the log)"},
      {"fake.instance_noise", "float", "0.01", {}, "Fake: spread of sessions (standard deviation of the log), seeded by the instance"},
      {"fake.error", "float", "0", {}, "Fake: relative error of float outputs", true},
      {"fake.crash", "enum", "never", {"never", "open", "run"}, "Fake: the process dies of SIGSEGV when it opens the model or runs it"},
      {"fake.hang", "enum", "never", {"never", "open", "run"}, "Fake: opening or running never ends"},
      {"fake.refuse", "bool", "off", {}, "Fake: opening fails with a message"},
      {"fake.memory_mb", "int", "0", {}, "Fake: the session holds so many MB"},
  };
  return table;
}
// clang-format on

class FakeEngine final : public Engine {
 public:
  std::string_view id() const override { return "fake"; }
  std::string_view profile_format() const override { return "onnxruntime_trace"; }
  const std::vector<SettingInfo>& settings() const override { return fake_settings(); }

  Capabilities probe() const override {
    return {true, "fake-1", "", {"for tests: its times are made up", "values by onnxruntime"}};
  }

  Result<std::unique_ptr<Session>> open(const fs::path& model, const Settings& settings,
                                        const OpenOptions& options) const override {
    HONE_TRY(validate(*this, settings));
    HONE_TRY(require_files(model, options));
    return fake::FakeSession::open(model, settings, options);
  }
};

}  // namespace

const Engine& fake_engine() {
  static const FakeEngine engine;
  return engine;
}

}  // namespace hone::engine
