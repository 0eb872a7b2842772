// hone profile: run a model with the engine's own profiler and say where the time goes.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/log.h"
#include "cli/measured.h"
#include "diagnose/diagnose.h"
#include "diagnose/peaks.h"

namespace hone::cli {

namespace {

constexpr double kPlainSeconds = 1;

struct Flags {
  MeasuredFlags measured;
  std::string output;
  int iterations = 50;
  size_t top = 15;
};

Result<diagnose::Diagnosis> diagnosed(const Flags& flags, const Measured& measured, const fs::path& folder,
                                      engine::RawProfile& raw) {
  worker::Options options;
  options.configuration = measured.configuration;
  options.data = measured.bench.data;
  options.log = folder / "collect_profile.log";
  options.profile_dir = folder;
  options.cpus = measured.bench.cpus;
  options.cancelled = interrupted_by_signal;
  auto worker = HONE_TRY(worker::Worker::start(options));
  raw = HONE_TRY(worker->profile(flags.iterations));
  if (raw.files.empty()) return fail(tool_failed("the engine wrote no profile", folder.string()));
  for (const fs::path& file : raw.files) log_detail("profile " + file.string());
  model::Model model = HONE_TRY(model::Model::load(measured.configuration.model));
  HONE_TRY(model.infer_shapes());
  // The profiler slows the run down: what is outside of kernels is judged by a run without it.
  const measure::Measurement plain =
      HONE_TRY(measure::measure(measured.configuration, measured.bench, 1, kPlainSeconds));
  diagnose::Conditions conditions;
  conditions.latency_ms = plain.execute_ms.median;
  conditions.shapes = measured.fixed.protocol.shapes;
  conditions.threads = measured.fixed.protocol.threads;
  log_detail(fmt::format("latency without the profiler {:.4g} ms", conditions.latency_ms));
  return diagnose::diagnose_file(raw.files.front(), model, HONE_TRY(diagnose::machine_peaks()), conditions);
}

void print_diagnosis(const diagnose::Diagnosis& d, size_t top) {
  fmt::print("latency {:.4g} ms: kernels {:.4g} ms, outside {:.4g} ms", d.latency_ms, d.kernel_ms, d.outside_ms);
  if (d.roof_ms > 0) fmt::print("; roofline allows {:.4g} ms", d.roof_ms);
  fmt::print("\n\n{:<14} {:>9} {:>7}\n", "class", "ms", "share");
  for (const diagnose::ClassTime& c : d.classes) fmt::print("{:<14} {:>9.4f} {:>6.1f}%\n", c.name, c.ms, c.share * 100);
  fmt::print("\n{:<44} {:<22} {:>9} {:>7} {:>9} {:>6}\n", "node", "type", "ms", "share", "GFLOP/s", "roof");
  for (size_t i = 0; i < d.operators.size() && i < top; ++i) {
    const diagnose::OperatorTime& o = d.operators[i];
    fmt::print("{:<44.44} {:<22.22} {:>9.4f} {:>6.1f}% {:>9} {:>6}\n", o.node, o.type, o.ms, o.share * 100,
               o.flops > 0 && o.ms > 0 ? fmt::format("{:.1f}", o.flops / o.ms / 1e6) : "-",
               o.efficiency > 0 ? fmt::format("{:.0f}%", o.efficiency * 100) : "-");
  }
  fmt::print("\nfindings\n");
  for (const diagnose::Finding& f : d.findings)
    fmt::print("P{} {}: {} (at most {:.2f} x)\n   {}\n", static_cast<int>(f.priority), f.id, f.title, f.upper_bound,
               f.evidence);
  if (d.findings.empty()) fmt::print("none\n");
}

Result<int> run(const Flags& flags, const Global& global) {
  Measured measured = HONE_TRY(prepare(flags.measured, global));
  print_notes(measured.fixed.data, global);
  const fs::path folder = flags.output.empty() ? measured.scratch->path() / "profile" : fs::absolute(flags.output);
  HONE_TRY(make_directories(folder));
  const auto device = HONE_TRY(occupy_device(measured.configuration.engine, global));
  engine::RawProfile raw;
  const diagnose::Diagnosis d = HONE_TRY(diagnosed(flags, measured, folder, raw));
  if (!flags.output.empty()) HONE_TRY(write_file(folder / "analysis.json", dump_json(d.to_json())));
  if (global.json) {
    Json document = d.to_json();
    document["files"] = Json::array();
    if (!flags.output.empty())
      for (const fs::path& file : raw.files) document["files"].push_back(file.string());
    print_document("profile", std::move(document));
    return 0;
  }
  print_diagnosis(d, flags.top);
  if (!flags.output.empty()) fmt::print("\nprofile and analysis.json are in {}\n", folder.string());
  return 0;
}

Action declare(CLI::App& app, Global& global) {
  auto flags = std::make_shared<Flags>();
  flags->measured.declare(app);
  app.add_option("-o,--output-dir", flags->output, "keep the raw profile and analysis.json there")->type_name("DIR");
  app.add_option("--iterations", flags->iterations, "profiled inferences")->check(CLI::Range(1, 1000000));
  app.add_option("--top", flags->top, "operators to print");
  return [flags, &global]() { return run(*flags, global); };
}

}  // namespace

extern const Command profile_command;
const Command profile_command = {"profile", "where a model's time goes, by the engine's own profiler",
                                 "  hone profile model.onnx --data samples/\n"
                                 "  hone profile model.onnx --engine openvino --output-dir prof/ --json",
                                 declare};

}  // namespace hone::cli
