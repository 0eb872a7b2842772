// A session whose time is made up and whose values are real: run() moves its own clock by the latency model's time; the
// outputs come from ONNX Runtime as the accuracy reference computes them (optimizations off), plus the error that was
// asked for. So accuracy gates judge fake Trials, rewritten and quantized models included, by true values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"
#include "engine/fake/latency.h"
#include "engine/fake/trace_writer.h"

namespace hone::engine::fake {

class FakeSession final : public Session {
 public:
  // `settings` are validated; rules are applied here.
  static Result<std::unique_ptr<Session>> open(const fs::path& model, const Settings& settings,
                                               const OpenOptions& options);
  const std::vector<TensorInfo>& inputs() const override { return values_->inputs(); }
  const std::vector<TensorInfo>& outputs() const override { return values_->outputs(); }
  Status bind(const model::NamedTensors& sample) override;
  Status run() override;
  Result<model::NamedTensors> fetch() override;
  Clock& clock() override { return clock_; }
  Result<RawProfile> end_profile() override;

 private:
  FakeSession() = default;

  std::string where_;
  Settings settings_;
  std::vector<NodeCost> nodes_;
  double latency_us_ = 0;  // of this instance, before the noise of an inference
  double noise_ = 0;       // sd of the log of an inference's time
  double error_ = 0;
  Noise random_{0};
  ManualClock clock_;
  std::unique_ptr<Session> values_;  // ONNX Runtime
  bool bound_ = false, ran_ = false;
  fs::path profile_dir_;
  std::vector<RunTime> runs_;
  std::vector<char> ballast_;  // fake.memory_mb
};

}  // namespace hone::engine::fake
