// SPDX-License-Identifier: Apache-2.0
#include "accuracy/quality.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "base/process.h"

namespace hone::accuracy {

namespace {

std::string_view last_line(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const size_t begin = text.find_last_of('\n');
  if (begin != std::string_view::npos) text.remove_prefix(begin + 1);
  return text.substr(text.find_first_not_of(" \t\r"));
}

}  // namespace

Result<double> run_quality_command(const std::string& command, const fs::path& outputs,
                                   std::chrono::milliseconds limit) {
  Command shell;
  shell.argv = {"/bin/sh", "-c", command, "hone", outputs.string()};
  shell.env["HONE_OUTPUTS"] = outputs.string();
  const ProcessOutput run = HONE_TRY(run_process(shell, limit));
  if (run.timed_out) return fail(timed_out("the quality command did not end in time", command));
  if (!run.exit.ok())
    return fail(tool_failed(
        fmt::format("the quality command failed with {}: {}", run.exit.text(), last_line(run.output)), command));
  const std::string_view text = last_line(run.out);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return fail(tool_failed(fmt::format("the quality command's last line is no number: '{}'", text), command,
                            "print one number as the last line"));
  return value;
}

void judge_quality(Report& report, double reference, double tried, const Gate& gate) {
  report.quality = tried;
  report.quality_reference = reference;
  if (!report.passed) return;  // an output is missing or has another type
  const double allowed = gate.quality_loss * std::fabs(reference);
  const double loss = gate.quality_lower_is_better ? tried - reference : reference - tried;
  report.passed = loss <= allowed;
  if (!report.passed)
    report.why = fmt::format("quality {:.6g} is worse than the reference's {:.6g} by more than {:g} %", tried,
                             reference, 100 * gate.quality_loss);
}

}  // namespace hone::accuracy
