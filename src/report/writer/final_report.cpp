// final_report.md: artifacts.md section 8 as Markdown.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "report/sentences.h"

namespace hone::report {

namespace {

std::string cell(std::string_view text) { return escape_markdown_cell(text); }

std::string environment_section(const run::Record& record) {
  std::string out = "## Environment\n\n| key | value |\n| --- | --- |\n";
  for (const auto& [key, value] : record.environment) out += fmt::format("| {} | {} |\n", cell(key), cell(value));
  out += fmt::format("| model | {} ({}) |\n| model sha256 | {} |\n", cell(record.plan.model.string()),
                     bytes_text(static_cast<double>(record.model_bytes)), record.model_sha256);
  return out + "\n";
}

std::string protocol_section(const run::Record& record) {
  std::string out = "## Protocol\n\n";
  if (!record.protocol) return out + "not fixed yet\n\n";
  const auto& p = *record.protocol;
  out += fmt::format("- hash {}\n- data: {} ({})\n", p.hash().substr(0, 8), record.data_source,
                     counted(p.sample_count, "sample"));
  for (const auto& [name, dims] : p.shapes) out += fmt::format("- input `{}`: {}\n", name, fmt::join(dims, "x"));
  for (const std::string& note : record.data_notes) out += "- " + note + "\n";
  out += fmt::format("- blocks of {} ms after {} ms of settling, in fresh process pairs; seed {}\n\n", p.block_ms,
                     p.settle_ms, p.seed);
  return out;
}

std::string baseline_section(const run::Record& record) {
  std::string out = "## Baseline\n\n";
  const run::Trial* baseline = record.baseline();
  if (baseline == nullptr || !baseline->measurement) return out + "not measured\n\n";
  const measure::Measurement& m = *baseline->measurement;
  out += fmt::format("- latency: median {}, 5th percentile {}, 95th {}, {}\n", milliseconds(m.execute_ms.median),
                     milliseconds(m.execute_ms.p5), milliseconds(m.execute_ms.p95),
                     counted(m.execute_ms.samples, "iteration"));
  out += fmt::format("- peak memory: {}\n- {}\n", bytes_text(static_cast<double>(m.peak_memory_bytes)),
                     smallest_gain_sentence(record));
  for (const std::string& warning : m.warnings) out += "- warning: " + warning + "\n";
  return out + "\n";
}

std::string changes_section(const run::Record& record, bool kept) {
  std::string out = kept ? "## Changes that were kept\n\n" : "## Changes that were not kept, and why\n\n";
  std::string rows;
  for (const run::Trial& trial : record.trials) {
    if (!trial.verdict || trial.kept() != kept) continue;
    rows += fmt::format("| {} | {} | {} | {} | {} | {} | {} | `{}` |\n", trial.number, cell(trial.title()),
                        run::to_text(trial.stage), accuracy::to_text(trial.proposal.accuracy),
                        cell(trial.proposal.finding), trial.comparison ? ratio(trial.comparison->speedup) : "-",
                        cell(verdict_word(trial) + ": " + trial.verdict->reason), trial.dir);
  }
  if (rows.empty()) return out + "none\n\n";
  return out + "| trial | change | priority | class | finding | beside the best of that time | verdict | files |\n" +
         "| --- | --- | --- | --- | --- | --- | --- | --- |\n" + rows + "\n";
}

std::string accuracy_section(const run::Record& record) {
  std::string out = "## Accuracy of the final best\n\n";
  const accuracy::Report* report = final_accuracy(record);
  if (report == nullptr) return out + "not checked\n\n";
  out += "Reference: the original model in ONNX Runtime with all graph optimizations off. " + gate_sentence(*report) +
         (report->why.empty() ? "" : ": " + report->why) + ".\n\n";
  out +=
      "| output | max abs | mean abs | rmse | cosine | SNR dB | max abs / largest | top-1 |\n| --- | --- | --- | --- | "
      "--- | --- | --- | --- |\n";
  for (const accuracy::Metrics& m : report->outputs)
    out += fmt::format("| {} | {:.3g} | {:.3g} | {:.3g} | {:.7f} | {:.1f} | {:.3g} | {} |\n", cell(m.name), m.max_abs,
                       m.mean_abs, m.rmse, m.cosine, m.snr_db, m.relative_max,
                       m.topk_match ? fmt::format("{:.1f} %", *m.topk_match * 100) : "-");
  return out + "\n";
}

std::string conclusion_section(const run::Record& record) {
  std::string out = "## Conclusion\n\n" + headline(record) + "\n\n";
  out += "Stopped because of " + stop_sentence(record) + ".\n";
  for (size_t i = 1; i < record.stops.size(); ++i)
    out += fmt::format("Also true: {}: {}.\n", record.stops[i].reason, record.stops[i].evidence);
  out +=
      "\nHow to use the result: [best/how_to_load.md](best/how_to_load.md). Every trial's files, also of those that "
      "were "
      "rolled back, are in `step3_patches/`; `trials.tsv` is the same as a table.\n";
  return out;
}

}  // namespace

std::string final_report(const run::Record& record) {
  std::string out = fmt::format("# {}\n\n**{}**\n\n", cell(record.plan.model.filename().string()), headline(record));
  out += environment_section(record) + protocol_section(record) + baseline_section(record);
  out += changes_section(record, true) + accuracy_section(record) + changes_section(record, false);
  return out + conclusion_section(record);
}

}  // namespace hone::report
