// hone align: how far B's outputs are from A's, and whether that passes the gate; --layerwise finds where they part.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "accuracy/accuracy.h"
#include "accuracy/layerwise.h"
#include "cli/log.h"
#include "cli/measured.h"

namespace hone::cli {

namespace {

struct Flags {
  MeasuredFlags a;
  std::string b, b_engine;
  std::vector<std::string> b_settings;
  std::string level = "numeric", accuracy_class = "reassociating";
  double max_abs = -1, min_cosine = -2, topk = -1;
  bool layerwise = false;
};

Status run_samples(const engine::Configuration& what, const Measured& measured, const fs::path& out) {
  worker::Options options;
  options.configuration = what;
  options.data = measured.bench.data;
  options.log = measured.bench.log_dir / (out.filename().string() + ".log");
  options.cpus = measured.bench.cpus;
  options.cancelled = interrupted_by_signal;
  HONE_TRY(make_directories(out));
  log_detail("running all samples by " + dump_json_line(what.to_json()));
  auto worker = HONE_TRY(worker::Worker::start(options));
  return worker->run_samples(out);
}

accuracy::Class class_from(const std::string& word) {
  if (word == "exact") return accuracy::Class::kExact;
  return word == "lossy" ? accuracy::Class::kLossy : accuracy::Class::kReassociating;
}

void print_outputs(const accuracy::Report& report) {
  fmt::print("{:<28} {:>10} {:>10} {:>12} {:>9} {:>10} {:>7}\n", "output", "max abs", "rmse", "cosine", "SNR dB",
             "rel. max", "top-1");
  for (const accuracy::Metrics& m : report.outputs)
    fmt::print("{:<28} {:>10.3g} {:>10.3g} {:>12.8f} {:>9.1f} {:>10.3g} {:>7}  {}\n", m.name, m.max_abs, m.rmse,
               m.cosine, m.snr_db, m.relative_max, m.topk_match ? fmt::format("{:.1f} %", *m.topk_match * 100) : "-",
               m.passed ? "" : m.why);
}

// Runs both models with shared intermediate tensors as extra outputs, in chunks, and finds the first that departs.
Result<std::optional<accuracy::Departure>> first_departure(const Flags& flags, const Measured& measured,
                                                           const engine::Configuration& other,
                                                           const accuracy::Gate& gate) {
  const model::Model a = HONE_TRY(model::Model::load(flags.a.model));
  const model::Model b = HONE_TRY(model::Model::load(flags.b));
  return accuracy::find_departure(a, b, gate, class_from(flags.accuracy_class), measured.scratch->path(),
                                  [&](accuracy::Side side, const fs::path& model, const fs::path& out) {
                                    engine::Configuration what =
                                        side == accuracy::Side::kA ? engine::accuracy_reference(model) : other;
                                    what.model = model;
                                    return run_samples(what, measured, out);
                                  });
}

Result<int> run(const Flags& flags, const Global& global) {
  Measured measured = HONE_TRY(prepare(flags.a, global));
  print_notes(measured.fixed.data, global);
  accuracy::Gate gate;
  gate.level = flags.level;
  if (flags.max_abs >= 0) gate.max_abs = flags.max_abs;
  if (flags.min_cosine >= -1) gate.min_cosine = flags.min_cosine;
  if (flags.topk >= 0) gate.topk = flags.topk;
  const engine::Configuration other = HONE_TRY(
      configuration_from(flags.b, flags.b_engine.empty() ? "onnxruntime" : flags.b_engine, flags.b_settings, {}));
  const fs::path out_a = measured.scratch->path() / "a", out_b = measured.scratch->path() / "b";
  HONE_TRY(run_samples(engine::accuracy_reference(measured.configuration.model), measured, out_a));
  HONE_TRY(run_samples(other, measured, out_b));
  const accuracy::Report report = HONE_TRY(
      accuracy::compare_folders(out_a, out_b, gate, class_from(flags.accuracy_class), measured.fixed.data.synthetic));
  std::optional<accuracy::Departure> departure;
  if (flags.layerwise) departure = HONE_TRY(first_departure(flags, measured, other, gate));
  if (global.json) {
    Json document = report.to_json();
    if (flags.layerwise) document["first_departure"] = departure ? departure->to_json() : Json(nullptr);
    if (flags.layerwise && !departure) document["first_departure_reason"] = "no shared tensor departs";
    print_document("align", std::move(document));
    return report.passed ? 0 : 1;
  }
  print_outputs(report);
  if (departure) fmt::print("first departure: {}\n", departure->sentence());
  if (flags.layerwise && !departure) fmt::print("no tensor that both models have departs\n");
  for (const std::string& note : report.notes) log_line("note: " + note);
  fmt::print("{}{}\n", report.passed ? "PASSED" : "FAILED: ", report.passed ? "" : report.why);
  return report.passed ? 0 : 1;
}

Action declare(CLI::App& app, Global& global) {
  auto flags = std::make_shared<Flags>();
  flags->a.declare_data(app);
  app.add_option("OTHER", flags->b, "the model that is checked")->required();
  app.add_option("--other-engine", flags->b_engine, "what runs OTHER (default onnxruntime)")->type_name("NAME");
  app.add_option("--other-set", flags->b_settings, "a setting for OTHER (repeatable)")->type_name("id=value");
  app.add_option("--accuracy", flags->level, "bitwise or numeric")->check(CLI::IsMember({"bitwise", "numeric"}));
  app.add_option("--class", flags->accuracy_class, "what was done to OTHER: its default thresholds")
      ->check(CLI::IsMember({"exact", "reassociating", "lossy"}));
  app.add_option("--max-abs", flags->max_abs, "largest absolute difference allowed");
  app.add_option("--min-cosine", flags->min_cosine, "smallest cosine allowed");
  app.add_option("--topk", flags->topk, "smallest share of equal top-1 classes allowed (0..1)");
  app.add_flag("--layerwise", flags->layerwise, "find the first tensor that departs");
  return [flags, &global]() { return run(*flags, global); };
}

}  // namespace

extern const Command align_command;
const Command align_command = {"align", "accuracy of one model against another",
                               "  hone align original.onnx rewritten.onnx --data samples/\n"
                               "  hone align original.onnx quantized.onnx --class lossy --layerwise --json",
                               declare};

}  // namespace hone::cli
