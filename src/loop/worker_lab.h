// WorkerLab: the real Lab: engines in worker processes, the measuring protocol, the profiler, the accuracy gate, and
// the Changes of changes.def (or a list given by a test). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/lab.h"
#include "measure/device_lock.h"
#include "model/model.h"

namespace hone::loop {

class WorkerLab final : public Lab {
 public:
  explicit WorkerLab(std::vector<const change::Change*> changes = change::all_changes());
  Result<Facts> facts(const run::Plan& plan) override;
  Result<Fixed> fix(const run::Plan& plan, const fs::path& samples) override;
  Status occupy(const run::Plan& plan, const std::function<void()>& on_wait,
                const std::function<bool()>& cancelled) override;
  Status begin(const run::Record& record) override;
  Status reference(const fs::path& outputs, const Task& task) override;
  Result<accuracy::Report> check(const engine::Configuration& tried, accuracy::Class accuracy_class, const Task& task,
                                 run::TrialLogs* logs) override;
  Result<measure::Measurement> measure(const engine::Configuration& what, const Task& task) override;
  Result<Compared> compare(const engine::Configuration& a, const engine::Configuration& b, const Task& task) override;
  Result<Compared> compare_fixed(const engine::Configuration& a, const engine::Configuration& b, int pairs,
                                 const Task& task) override;
  Result<double> screen(const engine::Configuration& a, const engine::Configuration& b, const Task& task) override;
  Result<diagnose::Diagnosis> profile(const engine::Configuration& what, double latency_ms, const Task& task) override;
  Result<std::vector<Candidate>> propose(const engine::Configuration& best,
                                         const diagnose::Diagnosis& diagnosis) override;
  Result<change::Applied> apply(const change::Proposal& proposal, const engine::Configuration& best,
                                const diagnose::Diagnosis& diagnosis, const fs::path& folder) override;
  Status copy_model(const fs::path& model, const fs::path& to) override;

 private:
  measure::Bench bench(const Task& task, std::vector<measure::BlockRow>* blocks) const;
  worker::Options worker_options(const engine::Configuration& what, const fs::path& log, const Task& task) const;
  // The model, types inferred; the last one is kept, since every Change asks for the same.
  Result<const model::Model*> model_of(const fs::path& path);
  Result<change::Context> context(const engine::Configuration& best, const diagnose::Diagnosis& diagnosis);

  std::vector<const change::Change*> changes_;
  run::Plan plan_;
  fs::path folder_;  // of the run
  std::optional<protocol::Protocol> protocol_;
  std::optional<measure::DeviceLock> device_;
  std::vector<int> cpus_;
  const measure::Calibration calibration_ = measure::machine_calibration();  // one for all trials of a Run
  std::shared_ptr<measure::MachineWatch> watch_;
  fs::path loaded_path_;
  std::optional<model::Model> loaded_;
};

}  // namespace hone::loop
