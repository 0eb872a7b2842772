// Quality: the user's own measure of a model. `--quality-cmd` is a shell command that reads a folder of outputs
// (sample_NNNN.npz, keys = output names) and prints a number as its last line.
//
// It gets the folder as $1 and as HONE_OUTPUTS. The tried model passes when its number is not worse than the
// reference's by more than Gate::quality_loss of |reference|; higher is better unless the Gate says otherwise.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "accuracy/accuracy.h"

namespace hone::accuracy {

// Runs the command for one folder and gives its number. An exit status other than 0, no number or a NaN is an Error.
Result<double> run_quality_command(const std::string& command, const fs::path& outputs,
                                   std::chrono::milliseconds limit = std::chrono::minutes(10));

// Sets quality, quality_reference, passed and why of a report.
void judge_quality(Report& report, double reference, double tried, const Gate& gate);

}  // namespace hone::accuracy
