// hone bench: one Measurement under a Protocol, or an interleaved comparison of two models with a verdict.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/machine.h"
#include "cli/log.h"
#include "cli/measured.h"
#include "cli/progress.h"

namespace hone::cli {

namespace {

struct Flags {
  MeasuredFlags measured;
  std::string vs, vs_engine, vs_config;
  std::vector<std::string> vs_settings;
  int instances = 3;
  std::string time = "2s", budget;
};

Json machine_json() {
  const MachineId machine = machine_id();
  return {{"cpu", machine.cpu}, {"cores", machine.cores}};
}

Result<int> bench_one(const Flags& flags, const Global& global, Measured& measured) {
  const double seconds = HONE_TRY(parse_duration(flags.time));
  Progress progress("measuring", !global.quiet);
  progress.attach(measured.bench.progress);
  const measure::Measurement m =
      HONE_TRY(measure::measure(measured.configuration, measured.bench, flags.instances, seconds));
  progress.done();
  if (global.json) {
    Json document = m.to_json();
    document["engine"] = measured.configuration.engine;
    document["settings"] = measured.configuration.settings;
    document["data"] = {{"source", measured.fixed.data.source}, {"synthetic", measured.fixed.data.synthetic}};
    document["machine"] = machine_json();
    print_document("bench", std::move(document));
    return 0;
  }
  const measure::Spread& t = m.execute_ms;
  fmt::print("{} on {}, protocol {}\n", measured.configuration.model.filename().string(), measured.configuration.engine,
             m.protocol_hash.substr(0, 8));
  fmt::print(
      "  latency  median {:.4g} ms   p5 {:.4g}   p95 {:.4g}   min {:.4g}   ({} iterations in {} processes, place {})\n",
      t.median, t.p5, t.p95, t.min, t.samples, flags.instances, m.place);
  fmt::print("  memory   peak {:.1f} MB\n  load     {:.3g} s\n", static_cast<double>(m.peak_memory_bytes) / 1e6,
             m.open_seconds);
  for (const std::string& warning : m.warnings) log_line("warning: " + warning);
  return 0;
}

Result<int> bench_two(const Flags& flags, const Global& global, Measured& measured) {
  const engine::Configuration other =
      HONE_TRY(configuration_from(flags.vs, flags.vs_engine.empty() ? measured.configuration.engine : flags.vs_engine,
                                  flags.vs_settings, flags.vs_config));
  if (!flags.budget.empty()) measured.bench.budget_s = HONE_TRY(parse_duration(flags.budget));
  Progress progress("comparing", !global.quiet);
  progress.attach(measured.bench.progress);
  measure::Rule rule;
  rule.until_outcome = true;  // here the word is the answer: a roll back alone is not
  const measure::Comparison c = HONE_TRY(measure::compare(measured.configuration, other, measured.bench, rule));
  progress.done();
  for (const measure::Look& look : c.looks)
    log_detail(fmt::format("look after {} pairs at {}: log ratio {:.4f} [{:.4f}, {:.4f}]", look.pairs, c.place,
                           look.mean, look.low, look.high));
  const bool decided = c.outcome != measure::Outcome::kUndecided;
  if (global.json) {
    Json document = c.to_json();
    document["verdict"] = measure::to_text(c.outcome);
    document["speedup"] = {{"estimate", c.speedup.estimate}, {"low", c.speedup.low}, {"high", c.speedup.high}};
    document["data"] = {{"source", measured.fixed.data.source}, {"synthetic", measured.fixed.data.synthetic}};
    document["machine"] = machine_json();
    print_document("bench", std::move(document));
    return decided ? 0 : 1;
  }
  fmt::print("A  {} ({})  {:.4g} ms\nB  {} ({})  {:.4g} ms\n", measured.configuration.model.string(),
             measured.configuration.engine, c.a_ms, other.model.string(), other.engine, c.b_ms);
  fmt::print("{}: B is {:.3f} times as fast as A [{:.3f}, {:.3f}], {} instance pairs in {:.1f} s, place {}\n",
             measure::to_text(c.outcome), c.speedup.estimate, c.speedup.low, c.speedup.high, c.pairs.size(), c.seconds,
             c.place);
  for (const std::string& warning : c.warnings) log_line("warning: " + warning);
  return decided ? 0 : 1;
}

Action declare(CLI::App& app, Global& global) {
  auto flags = std::make_shared<Flags>();
  flags->measured.declare(app);
  CLI::Option* vs =
      app.add_option("--vs", flags->vs, "compare with this model, interleaved, and give a verdict")->type_name("OTHER");
  app.add_option("--vs-engine", flags->vs_engine, "engine of OTHER (default: the same)")->type_name("NAME")->needs(vs);
  app.add_option("--vs-set", flags->vs_settings, "a setting for OTHER (repeatable)")->type_name("id=value")->needs(vs);
  app.add_option("--vs-config", flags->vs_config, "engine and settings of OTHER from a file")
      ->type_name("FILE")
      ->needs(vs);
  app.add_option("--instances", flags->instances, "fresh processes of one Measurement")
      ->check(CLI::Range(1, 100))
      ->excludes(vs);
  app.add_option("--time", flags->time, "measured time of one Measurement (default 2s)")
      ->type_name("TIME")
      ->excludes(vs);
  app.add_option("--budget", flags->budget, "give up a comparison after this time")->type_name("TIME")->needs(vs);
  return [flags, &global]() -> Result<int> {
    Measured measured = HONE_TRY(prepare(flags->measured, global));
    print_notes(measured.fixed.data, global);
    const auto device = HONE_TRY(occupy_device(measured.configuration.engine, global));
    return flags->vs.empty() ? bench_one(*flags, global, measured) : bench_two(*flags, global, measured);
  };
}

}  // namespace

extern const Command bench_command;
const Command bench_command = {
    "bench", "measure one model, or compare two, interleaved, with a verdict",
    "  hone bench model.onnx --data samples/\n"
    "  hone bench model.onnx --set intra_op_threads=1\n"
    "  hone bench old.onnx --vs new.onnx --json\n"
    "  hone bench model.onnx --vs runs/x/best/model.onnx --vs-config runs/x/best/settings.json",
    declare};

}  // namespace hone::cli
