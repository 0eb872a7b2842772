// SPDX-License-Identifier: Apache-2.0
#include "run/trial_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>

#include "base/clock.h"
#include "run/layout.h"
#include "run/secrets.h"
#include "run/shell.h"

namespace hone::run {

namespace {

constexpr std::array<std::string_view, 4> kLogs = {"export.log", "convert.log", "benchmark.log", "accuracy.log"};

// The frame every log has (artifacts.md section 4): how it was made, the text, how it ended.
std::string framed(const StepLog& step, const std::string& head, const std::string& tail) {
  const std::string now = utc_now_iso8601();
  return fmt::format("command: {}\n{}start: {}\npid: {}\n---\n{}{}---\n{}end: {}\nexit code: {}\n", step.command, head,
                     step.started.empty() ? now : step.started, step.pid == 0 ? ::getpid() : step.pid, step.output,
                     step.output.empty() || step.output.back() == '\n' ? "" : "\n", tail,
                     step.ended.empty() ? now : step.ended, step.exit_code);
}

Status write_log(const fs::path& file, const StepLog& step, const std::string& head, const std::string& tail) {
  return write_file(file, mask_secrets(framed(step, head, tail)));
}

std::string versions(const Record& record) {
  std::string out = "hone " + record.hone_version;
  for (const auto& [key, value] : record.environment)
    if (key.starts_with("engine.")) out += fmt::format(", {} {}", key.substr(7), value);
  return "versions: " + out + "\n";
}

std::string protocol_line(const Record& record) {
  return record.protocol ? "protocol: " + record.protocol->hash() + "\n" : std::string();
}

// Why a step has nothing to say: the Trial ended before it.
StepLog not_reached(const Trial& trial, std::string_view step) {
  StepLog log;
  log.command = fmt::format("{} {}", step, trial.title());
  log.output = "not run: " + (trial.verdict ? trial.verdict->reason : "the trial has not come this far") + "\n";
  log.started = trial.started;
  return log;
}

std::string settings_text(const engine::Settings& settings) {
  if (settings.empty()) return "  (the engine's defaults)\n";
  std::string out;
  for (const auto& [id, value] : settings) out += fmt::format("  {} = {}\n", id, value);
  return out;
}

std::string block_line(const measure::BlockRow& b) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.6g}\t{:.6g}\t{:.6g}\t{:.6g}\t{}\n", b.pair, b.slot, b.side, b.pid,
                     b.place, b.block.iterations, b.block.min, b.block.q25, b.block.q50, b.block.q90,
                     b.invalid.empty() ? "valid" : b.invalid);
}

std::string comparison_text(const measure::Comparison& c) {
  std::string out =
      fmt::format("A {:.6g} ms, B {:.6g} ms\nspeed-up {:.4f} [{:.4f}, {:.4f}], {} instance pairs, {}\n", c.a_ms, c.b_ms,
                  c.speedup.estimate, c.speedup.low, c.speedup.high, c.pairs.size(), measure::to_text(c.outcome));
  for (const std::string& warning : c.warnings) out += "warning: " + warning + "\n";
  return out;
}

std::string metric_line(const accuracy::Metrics& m) {
  return fmt::format("{}\t{:.6g}\t{:.6g}\t{:.6g}\t{:.8f}\t{}\t{:.3g}\t{}\t{}\t{}\n", m.name, m.max_abs, m.mean_abs,
                     m.rmse, m.cosine, std::isfinite(m.snr_db) ? fmt::format("{:.1f}", m.snr_db) : "equal",
                     m.relative_max, m.topk_match ? fmt::format("{:.4f}", *m.topk_match) : "-", m.nan_mismatch,
                     m.passed ? "pass" : "fail: " + m.why);
}

// A path a shell script beside the trial can use: from the trial's folder to a file of the run, or the absolute one.
std::string from_trial(const fs::path& path, const Trial& trial, const Record& record) {
  if (path.is_absolute()) return path.string();
  return (record.folder / path).lexically_relative(record.folder / trial.dir).string();
}

}  // namespace

Status write_settings(const fs::path& folder, const engine::Configuration& configuration, const Record& record) {
  Json out = {{"schema", "hone.settings/1"}};
  out.update(portable(configuration, record.folder).to_json());
  return write_file(folder / "settings.json", dump_json(out));
}

Status write_export_log(const fs::path& folder, const Trial& trial, const change::Applied& applied,
                        const Record& record) {
  StepLog step;
  step.command = "apply " + trial.title();
  step.output = applied.export_log;
  step.started = trial.started;
  const Trial* parent = record.trial(trial.parent);
  std::string head = versions(record);
  if (parent != nullptr)
    head += fmt::format("input: trial {} ({} on {})\n", parent->number, parent->configuration.model.string(),
                        parent->configuration.engine);
  head += "original sha256: " + record.model_sha256 + "\n";
  std::string tail = "result: " + applied.summary + "\n";
  if (applied.nodes_before >= 0) tail += fmt::format("nodes: {} -> {}\n", applied.nodes_before, applied.nodes_after);
  std::error_code code;
  const fs::path model = located(applied.configuration.model, record.folder);
  if (fs::exists(model, code)) tail += "product sha256: " + HONE_TRY(sha256_of_file(model)) + "\n";
  HONE_TRY(write_log(folder / kLogs[0], step, head, tail));
  if (applied.patch.empty()) return {};
  const std::string patch = fmt::format("{}.diff", folder.filename().string());
  return write_file(folder.parent_path() / patch, applied.patch);
}

Status write_convert_log(const fs::path& folder, const Trial& trial, const std::optional<StepLog>& step,
                         const Record& record) {
  const StepLog log = step ? *step : not_reached(trial, "open");
  const std::string head =
      versions(record) + fmt::format("engine: {}\nmodel: {}\nconfig:\n{}", trial.configuration.engine,
                                     trial.configuration.model.string(), settings_text(trial.configuration.settings));
  const std::string result =
      step ? (log.exit_code == 0 ? "result: the engine opened the model (it has no separate conversion)\n"
                                 : "result: failed\n")
           : "result: not run\n";
  return write_log(folder / kLogs[1], log, head, result);
}

Status write_benchmark_log(const fs::path& folder, const Trial& trial, const std::vector<measure::BlockRow>& blocks,
                           const Record& record) {
  StepLog log = trial.comparison || trial.measurement ? StepLog{} : not_reached(trial, "compare");
  std::string tail = "samples: none\n";
  if (trial.comparison) {
    log.command =
        fmt::format("compare trial {} (A) with {} (B), interleaved, fresh processes", trial.parent, trial.title());
    log.output = "pair\tslot\tside\tpid\tplace\titerations\tmin_ms\tq25_ms\tq50_ms\tq90_ms\tvalid\n";
    for (const measure::BlockRow& b : blocks) log.output += block_line(b);
    log.output += comparison_text(*trial.comparison);
    tail = "samples: measurement.json, and the tables `block` and `look` of the journal\n";
  } else if (trial.measurement) {
    const measure::Measurement& m = *trial.measurement;
    log.command = "measure " + trial.title();
    log.output = fmt::format("median {:.6g} ms, p5 {:.6g}, p95 {:.6g}, min {:.6g}, {} samples, peak memory {} bytes\n",
                             m.execute_ms.median, m.execute_ms.p5, m.execute_ms.p95, m.execute_ms.min,
                             m.execute_ms.samples, m.peak_memory_bytes);
    for (const std::string& warning : m.warnings) log.output += "warning: " + warning + "\n";
    tail = "samples: measurement.json\n";
  }
  std::string head = protocol_line(record) + versions(record);
  for (const auto& [key, value] : record.environment) head += fmt::format("env {}: {}\n", key, value);
  return write_log(folder / kLogs[2], log, head, tail);
}

Status write_accuracy_log(const fs::path& folder, const Trial& trial, const std::optional<StepLog>& step,
                          const Record& record) {
  StepLog log = step ? *step : not_reached(trial, "check the accuracy of");
  if (trial.accuracy) {
    const accuracy::Report& report = *trial.accuracy;
    log.output += fmt::format("level {}, {} samples{}, class {}: {}\n", report.level, report.samples,
                              report.synthetic ? " (synthetic)" : "", accuracy::to_text(report.accuracy_class),
                              report.passed ? "pass" : "fail: " + report.why);
    log.output += "output\tmax_abs\tmean_abs\trmse\tcosine\tsnr_db\trelative_max\ttopk\tnan_mismatch\tgate\n";
    for (const accuracy::Metrics& m : report.outputs) log.output += metric_line(m);
  }
  std::string head = "reference: the original model in onnxruntime, all graph optimizations off\n";
  if (record.protocol) head += "data sha256: " + record.protocol->data_sha256 + "\n";
  return write_log(folder / kLogs[3], log, head, {});
}

Status write_verdict(const fs::path& folder, const Trial& trial) {
  if (!trial.verdict) return {};
  const Json out = {{"schema", "hone.verdict/1"},      {"trial", trial.number},
                    {"change", trial.title()},         {"verdict", verdict::to_text(trial.verdict->kind)},
                    {"reason", trial.verdict->reason}, {"noise", trial.verdict->noise}};
  return write_file(folder / "verdict.json", dump_json(out));
}

Status write_reproduce(const fs::path& folder, const Trial& trial, const Record& record) {
  const Trial* parent = record.trial(trial.parent);
  if (parent == nullptr) return {};
  const std::string text = fmt::format(
      "#!/bin/sh\n# Measures trial {} beside what it was compared with, as this run did. Needs `hone` in PATH.\n"
      "cd \"$(dirname \"$0\")\" || exit 1\n"
      "exec hone bench {} --config {} \\\n  --vs {} --vs-config settings.json \\\n  --data {} --seed {} \"$@\"\n",
      trial.number, shell_quoted(from_trial(parent->configuration.model, trial, record)),
      shell_quoted(from_trial(fs::path(parent->dir) / "settings.json", trial, record)),
      shell_quoted(from_trial(trial.configuration.model, trial, record)),
      shell_quoted(from_trial(kSamples, trial, record)), record.plan.seed);
  HONE_TRY(write_file(folder / "reproduce.sh", text));
  std::error_code code;
  fs::permissions(folder / "reproduce.sh", fs::perms(0755), code);
  return {};
}

std::vector<std::string> missing_logs(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code code;
  for (std::string_view name : kLogs)
    if (!fs::exists(folder / name, code)) out.emplace_back(name);
  return out;
}

}  // namespace hone::run
