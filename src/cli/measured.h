// What bench, profile and align share: flags that say what is run, and the model, samples and Bench made from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "cli/command.h"
#include "measure/device_lock.h"
#include "measure/measure.h"
#include "model/model.h"
#include "protocol/fix.h"

namespace hone::cli {

struct MeasuredFlags {
  std::string model;
  std::string data;
  std::vector<std::string> shapes;
  std::string engine = "onnxruntime";
  std::vector<std::string> settings;  // id=value
  std::string config;                 // a run's settings.json
  uint64_t seed = 42;
  void declare(CLI::App& app);         // all of them
  void declare_data(CLI::App& app);    // MODEL, --data, --shape, --seed: for commands that say themselves what runs it
  void declare_engine(CLI::App& app);  // --engine, --set, --config
};

struct Measured {
  engine::Configuration configuration;
  protocol::Fixed fixed;
  std::shared_ptr<ScratchFolder> scratch;  // samples and logs live here
  measure::Bench bench;
};

// A Configuration from --engine/--set/--config for a model.
Result<engine::Configuration> configuration_from(const std::string& model, const std::string& engine,
                                                 const std::vector<std::string>& settings, const std::string& config);
Result<Measured> prepare(const MeasuredFlags& flags, const Global& global);

// Waits until no other hone measures on this machine, and says so on standard error unless --quiet. Hold it while
// measuring. The fake engine has its own clock and needs none: nullopt.
Result<std::optional<measure::DeviceLock>> occupy_device(const std::string& engine, const Global& global);

// Prints measuring's notes ("data is synthetic ...") to standard error unless --quiet.
void print_notes(const protocol::Dataset& data, const Global& global);

}  // namespace hone::cli
