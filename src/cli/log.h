// Log: what --verbose shows on standard error and --log-file keeps: every step with its numbers. The file gets
// everything whether or not --verbose is given, each line with its time in UTC. Secrets are masked in both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace hone::cli {

// Starts the log of this process; a file that can't be opened is an Error.
Status open_log(const Global& global);
// A detail: for --verbose and the file only.
void log_detail(const std::string& text);
// What a user sees in any case (unless `enabled` is false: --quiet), and the file keeps.
void log_line(const std::string& text, bool enabled = true);
// True when details go to standard error: then nothing may be overwritten there.
bool log_is_verbose();

}  // namespace hone::cli
