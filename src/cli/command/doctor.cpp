// hone doctor: what this machine has, what is missing and how to get it, and how small a gain can be proven here.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/machine.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/measured.h"
#include "cli/progress.h"
#include "diagnose/peaks.h"
#include "measure/calibrate.h"
#include "measure/topology.h"

namespace hone::cli {

namespace {

struct Flags {
  bool fresh = false;
  double calibrate_s = 0;
  MeasuredFlags measured;  // --model: how small a gain can be proven with it
};

Json engines_json() {
  Json out = Json::array();
  for (const engine::Engine* engine : engine::all_engines()) {
    const engine::Capabilities c = engine->probe();
    if (engine->id() == "fake" && std::getenv("HONE_FAKE_ENGINE") == nullptr) continue;
    out.push_back({{"id", engine->id()},
                   {"available", c.available},
                   {"version", c.version},
                   {"reason", c.reason},
                   {"details", c.details}});
  }
  return out;
}

void print_machine(const MachineId& id, const diagnose::Machine& peaks) {
  fmt::print("machine\n  CPU       {}, {} ({} NUMA node{})\n", id.cpu, counted(id.cores, "core"), id.numa_nodes,
             id.numa_nodes == 1 ? "" : "s");
  fmt::print("  features  {}\n  memory    {}, L2 {}, L3 {}\n", fmt::join(id.features, " "),
             bytes_text(static_cast<double>(id.memory_bytes)), bytes_text(static_cast<double>(id.l2_bytes)),
             bytes_text(static_cast<double>(id.l3_bytes)));
  fmt::print("  kernel    {}, governor {}\n", id.kernel, id.governor);
  fmt::print(
      "  peaks     float32 {:.0f} GFLOP/s ({:.0f} on one core), bfloat16 {:.0f}, int8 {:.0f} GOP/s, memory {:.1f} "
      "GB/s\n",
      peaks.gflops_f32, peaks.gflops_f32_one, peaks.gflops_bf16, peaks.gops_int8, peaks.bandwidth_gbs);
}

Result<diagnose::Machine> fresh_peaks(const Global& global) {
  const auto device = HONE_TRY(occupy_device({}, global));
  return diagnose::measure_machine();
}

Result<measure::MachineReport> calibrated(const Flags& flags, const Global& global) {
  const auto device = HONE_TRY(occupy_device({}, global));
  Progress progress("watching the CPUs", !global.quiet);
  measure::CalibrateOptions options;
  options.seconds = flags.calibrate_s;
  options.cpus = measure::cpus_for(global.threads);
  options.cancelled = interrupted_by_signal;
  options.on_progress = [&](double share) { progress.show(fmt::format("{:.0f} %", share * 100)); };
  measure::MachineReport report = HONE_TRY(measure::calibrate_machine(options));
  if (!measure::worth_keeping(report))
    report.warnings.push_back(
        "not stored for later runs: that takes 100 canaries on a machine that others leave alone");
  else if (auto stored = measure::store_calibration(report.calibration); !stored)
    report.warnings.push_back("not stored for later runs: " + stored.error().line());
  return report;
}

void print_places(const measure::MachineReport& report) {
  fmt::print("\nplaces, {} canaries in {:.0f} s\n", report.canaries, report.seconds);
  for (const measure::PlaceSeen& place : report.places)
    fmt::print("  {:<8} {:>5.1f} % of the time, ping {:.0f} ns, FMA {:.3f} ms, longest stay {:.1f} s\n", place.name,
               place.share * 100, place.ping_ns, place.fma_ms, place.longest_s);
  for (const std::string& warning : report.warnings) fmt::print("  warning: {}\n", warning);
}

Result<measure::ModelReport> calibrated_model(const Flags& flags, const Global& global) {
  const Measured measured = HONE_TRY(prepare(flags.measured, global));
  print_notes(measured.fixed.data, global);
  const auto device = HONE_TRY(occupy_device(measured.configuration.engine, global));
  Progress progress("the model beside its own copy", !global.quiet);
  measure::Bench bench = measured.bench;
  progress.attach(bench.progress);
  return measure::calibrate_model(measured.configuration, bench);
}

// Without two undisturbed pairs nothing is known about the spread: no figure then.
Json model_json(const measure::ModelReport& report) {
  Json out = report.to_json();
  if (measure::smallest_provable(report.aa)) return out;
  out["smallest_speedup"] = nullptr;
  out["smallest_speedup_reason"] = "too few undisturbed pairs: the machine is busy";
  return out;
}

void print_model(const std::string& model, const measure::ModelReport& report) {
  fmt::print("\nproof, with {}\n", model);
  if (const auto least = measure::smallest_provable(report.aa))
    fmt::print(
        "  its own copy is {:.3f} x as fast [{:.3f}, {:.3f}] over {}, spread {:.2f} %\n"
        "  a gain of {:.1f} % is proven in 8 of 10 runs; smaller ones less often\n",
        report.aa.speedup.estimate, report.aa.speedup.low, report.aa.speedup.high,
        counted(static_cast<long long>(report.aa.pairs.size()), "process pair"), report.sd * 100, (*least - 1) * 100);
  else
    fmt::print("  the machine is too busy to tell how small a gain can be proven: too few undisturbed pairs\n");
  fmt::print("  after a thaw it settles in {:.0f} ms (its first inference takes {:.2f} x), blocks of {:.0f} ms do\n",
             report.settle_ms, report.first_iteration, report.block_ms);
  for (const std::string& warning : report.aa.warnings) fmt::print("  warning: {}\n", warning);
}

Result<int> run(const Flags& flags, const Global& global) {
  const MachineId id = machine_id();
  const diagnose::Machine peaks = HONE_TRY(flags.fresh ? fresh_peaks(global) : diagnose::machine_peaks());
  const Json engines = engines_json();
  std::optional<measure::MachineReport> calibration;
  if (flags.calibrate_s > 0) calibration = HONE_TRY(calibrated(flags, global));
  std::optional<measure::ModelReport> proof;
  if (!flags.measured.model.empty()) proof = HONE_TRY(calibrated_model(flags, global));
  if (global.json) {
    Json machine = peaks.to_json();
    machine["kernel"] = id.kernel;
    machine["governor"] = id.governor;
    machine["numa_nodes"] = id.numa_nodes;
    Json document = {{"machine", machine}, {"engines", engines}};
    document["calibration"] = calibration ? calibration->to_json() : Json(nullptr);
    if (!calibration) document["calibration_reason"] = "not asked for: --calibrate 30";
    document["model"] = proof ? model_json(*proof) : Json(nullptr);
    if (!proof) document["model_reason"] = "not asked for: --model model.onnx";
    print_document("doctor", std::move(document));
    return 0;
  }
  print_machine(id, peaks);
  fmt::print("\nengines\n");
  for (const Json& engine : engines) {
    const bool available = engine["available"];
    fmt::print("  {:<12} {}\n", engine["id"].get<std::string>(),
               available ? engine["version"].get<std::string>() : "missing: " + engine["reason"].get<std::string>());
    for (const Json& detail : engine["details"]) fmt::print("               {}\n", detail.get<std::string>());
  }
  if (calibration)
    print_places(*calibration);
  else
    fmt::print("\n`hone doctor --calibrate 30` looks for 30 s where the hypervisor puts the CPUs.\n");
  if (proof)
    print_model(flags.measured.model, *proof);
  else
    fmt::print("`hone doctor --model model.onnx` measures how small a gain can be proven with it.\n");
  return 0;
}

Action declare(CLI::App& app, Global& global) {
  auto flags = std::make_shared<Flags>();
  app.add_flag("--fresh", flags->fresh, "measure the peaks again instead of reading the cache");
  app.add_option("--calibrate", flags->calibrate_s, "watch the placement of CPUs for so many seconds")
      ->check(CLI::Range(1.0, 3600.0))
      ->type_name("SECONDS");
  CLI::Option* model =
      app.add_option("--model", flags->measured.model, "measure how small a gain can be proven with this model")
          ->type_name("FILE");
  app.add_option("--data", flags->measured.data, "samples for it")->type_name("DIR|FILE")->needs(model);
  app.add_option("--engine", flags->measured.engine, "what runs it (default onnxruntime)")
      ->type_name("NAME")
      ->needs(model);
  return [flags, &global]() { return run(*flags, global); };
}

}  // namespace

extern const Command doctor_command;
const Command doctor_command = {"doctor", "what this machine has, and what it can prove",
                                "  hone doctor\n  hone doctor --calibrate 30 --json\n"
                                "  hone doctor --model model.onnx --data samples/",
                                declare};

}  // namespace hone::cli
