// Files of one Trial: settings.json, the patch, the four logs, measurement.json, accuracy.json, verdict.json,
// reproduce.sh (artifacts.md section 1 and 4). Every Trial has the four logs, failed and skipped ones too: a log whose
// step was not reached says so. Secrets are masked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "change/change.h"
#include "run/record.h"

namespace hone::run {

// What the engine or tool itself wrote, verbatim, and how the step ended.
struct StepLog {
  std::string command;  // what was done, as one line
  std::string output;   // verbatim
  int exit_code = 0;
  std::string started, ended;  // UTC
  int pid = 0;
};

struct TrialLogs {
  std::optional<StepLog> converted, accuracy;
};

Status write_settings(const fs::path& folder, const engine::Configuration& configuration, const Record& record);
Status write_export_log(const fs::path& folder, const Trial& trial, const change::Applied& applied,
                        const Record& record);
Status write_convert_log(const fs::path& folder, const Trial& trial, const std::optional<StepLog>& step,
                         const Record& record);
Status write_benchmark_log(const fs::path& folder, const Trial& trial, const std::vector<measure::BlockRow>& blocks,
                           const Record& record);
Status write_accuracy_log(const fs::path& folder, const Trial& trial, const std::optional<StepLog>& step,
                          const Record& record);
Status write_verdict(const fs::path& folder, const Trial& trial);
Status write_reproduce(const fs::path& folder, const Trial& trial, const Record& record);
// The names of the four logs that are not there yet.
std::vector<std::string> missing_logs(const fs::path& folder);

}  // namespace hone::run
