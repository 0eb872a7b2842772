// SPDX-License-Identifier: Apache-2.0
#include "cli/measured.h"

#include <fmt/format.h>

#include "cli/log.h"
#include "measure/topology.h"

namespace hone::cli {

void MeasuredFlags::declare(CLI::App& app) {
  declare_data(app);
  declare_engine(app);
}

void MeasuredFlags::declare_data(CLI::App& app) {
  app.add_option("MODEL", model, "an ONNX file")->required();
  app.add_option("--data", data, "samples: a folder of .npz or .npy, one .npz, test_data_set_N, or JSON lines")
      ->type_name("DIR|FILE");
  app.add_option("--shape", shapes, "fix an input's shape (repeatable)")->type_name("name:1x3x224x224");
  app.add_option("--seed", seed, "for synthetic data and the order of blocks")->type_name("N");
}

void MeasuredFlags::declare_engine(CLI::App& app) {
  app.add_option("--engine", engine, "what runs the model (default onnxruntime)")->type_name("NAME");
  app.add_option("--set", settings, "a setting of the engine (repeatable)")->type_name("id=value");
  app.add_option("--config", config, "engine and settings from a run's best/settings.json")->type_name("FILE");
}

Result<engine::Configuration> configuration_from(const std::string& model, const std::string& engine,
                                                 const std::vector<std::string>& settings, const std::string& config) {
  engine::Configuration out;
  out.engine = engine;
  if (!config.empty()) {
    out = HONE_TRY(engine::Configuration::from_json(HONE_TRY(read_json(config))).map_error([&](Error e) {
      return std::move(e).with("reading " + config);
    }));
  }
  out.model = fs::absolute(model);
  for (auto& [id, value] : HONE_TRY(parse_settings(settings))) out.settings[id] = value;
  const engine::Engine* found = HONE_TRY(engine::find_engine(out.engine));
  const engine::Capabilities capabilities = found->probe();
  if (!capabilities.available) return fail(tool_failed("engine not available", out.engine, capabilities.reason));
  HONE_TRY(engine::validate(*found, out.settings));
  return out;
}

Result<Measured> prepare(const MeasuredFlags& flags, const Global& global) {
  Measured out;
  model::Model model = HONE_TRY(model::Model::load(flags.model));
  HONE_TRY(model.infer_shapes());
  log_detail(fmt::format("model {}: {} nodes, opset {}", flags.model, model.graph().node_count(), model.opset()));
  protocol::FixOptions options;
  options.data = flags.data;
  options.shapes = HONE_TRY(parse_shapes(flags.shapes));
  options.threads = global.threads;
  options.seed = flags.seed;
  if (!options.shapes.empty()) HONE_TRY(model.clone().freeze_shapes(options.shapes));
  out.fixed = HONE_TRY(protocol::fix(model, options));
  out.configuration = HONE_TRY(configuration_from(flags.model, flags.engine, flags.settings, flags.config));
  out.scratch = std::make_shared<ScratchFolder>(HONE_TRY(ScratchFolder::create("hone")));
  out.bench.protocol = out.fixed.protocol;
  out.bench.data = out.scratch->path() / "samples";
  out.bench.log_dir = out.scratch->path() / "logs";
  HONE_TRY(make_directories(out.bench.log_dir));
  HONE_TRY(protocol::write_samples(out.bench.data, out.fixed.data.samples));
  out.bench.cpus = measure::cpus_for(global.threads);
  out.bench.seed = flags.seed;
  out.bench.calibration = measure::machine_calibration();
  out.bench.progress.cancelled = interrupted_by_signal;
  log_detail(fmt::format("protocol {}: {}", out.fixed.protocol.hash().substr(0, 8),
                         dump_json_line(out.fixed.protocol.to_json())));
  log_detail("runs by " + dump_json_line(out.configuration.to_json()));
  return out;
}

Result<std::optional<measure::DeviceLock>> occupy_device(const std::string& engine, const Global& global) {
  std::optional<measure::DeviceLock> lock;
  if (engine == "fake") return lock;
  const auto on_wait = [&] { log_line("another hone measures on this machine: waiting for it", !global.quiet); };
  lock.emplace(HONE_TRY(measure::DeviceLock::take(measure::DeviceLock::of_cpu(), on_wait, interrupted_by_signal)));
  return lock;
}

void print_notes(const protocol::Dataset& data, const Global& global) {
  log_line("data: " + data.source, !global.quiet);
  for (const std::string& note : data.notes) log_line("note: " + note, !global.quiet);
}

}  // namespace hone::cli
