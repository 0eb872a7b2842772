// SPDX-License-Identifier: Apache-2.0
#include "report/sentences.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hone::report {

std::string milliseconds(double ms) {
  if (ms >= 100) return fmt::format("{:.0f} ms", ms);
  if (ms >= 10) return fmt::format("{:.1f} ms", ms);
  if (ms >= 1) return fmt::format("{:.2f} ms", ms);
  return fmt::format("{:.4f} ms", ms);
}

std::string ratio(const measure::Interval& interval) {
  return fmt::format("{:.2f} x [{:.2f}, {:.2f}]", interval.estimate, interval.low, interval.high);
}

std::string headline(const run::Record& record) {
  const auto speedup = record.speedup();
  const run::Trial* best = record.best();
  const auto before = record.baseline_ms(), after = record.best_ms();
  if (!speedup || best == nullptr) return "the run has no final measurement yet";
  if (best->number == 0)
    return before ? fmt::format("No change made the model faster beyond noise; it stays at {}.", milliseconds(*before))
                  : "No change made the model faster beyond noise.";
  std::string times =
      before && after ? fmt::format(": {} instead of {}", milliseconds(*after), milliseconds(*before)) : "";
  return fmt::format("{:.2f} times as fast as the original, 95 % interval [{:.2f}, {:.2f}]{}.", speedup->estimate,
                     speedup->low, speedup->high, times);
}

std::string stop_sentence(const run::Record& record) {
  if (record.stops.empty())
    return record.progress == run::Progress::kFinished ? "unknown" : "the run has not stopped yet";
  return record.stops.front().reason + ": " + record.stops.front().evidence;
}

std::string gate_sentence(const accuracy::Report& report) {
  return fmt::format("{} gate {} on {} ({} change)", report.level, report.passed ? "passed" : "not passed",
                     counted(report.samples, report.synthetic ? "synthetic sample" : "real sample"),
                     accuracy::to_text(report.accuracy_class));
}

std::string verdict_word(const run::Trial& trial) {
  if (!trial.verdict) return trial.number == 0 ? "baseline" : run::to_text(trial.stage) == "final" ? "final" : "open";
  const std::string_view word = trial.outcome();
  if (word == "noise") return "rolled back (noise)";
  return word == "rolled_back" ? "rolled back" : std::string(word);
}

std::string smallest_gain_sentence(const run::Record& record) {
  if (!record.noise) return "The noise of the baseline was not measured.";
  const std::optional<double> least = measure::smallest_provable(*record.noise);
  if (!least) return "The machine was too busy to measure the noise of the baseline.";
  return fmt::format(
      "The model beside its own copy: {} over {}; the smallest gain that can be proven here is {:.1f} %.",
      ratio(record.noise->speedup), counted(static_cast<long long>(record.noise->pairs.size()), "process pair"),
      (*least - 1) * 100);
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_markdown_cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|')
      out += "\\|";
    else if (c == '\n' || c == '\r')
      out += ' ';
    else
      out += c;
  }
  return out;
}

const accuracy::Report* final_accuracy(const run::Record& record) {
  const run::Trial* best = record.best();
  return best != nullptr && best->accuracy ? &*best->accuracy : nullptr;
}

const diagnose::Diagnosis* diagnosis_before(const run::Record& record) {
  const run::ProfileRow* row = record.profile_of(0);
  return row != nullptr ? &row->diagnosis : nullptr;
}

const diagnose::Diagnosis* diagnosis_after(const run::Record& record) {
  const run::Trial* best = record.best();
  if (best == nullptr || best->number == 0) return nullptr;
  const run::ProfileRow* row = record.profile_of(best->number);
  return row != nullptr ? &row->diagnosis : nullptr;
}

}  // namespace hone::report
