// manifest.txt: one "key: value" line each, required keys first (artifacts.md section 2); unknown is "unknown", never
// missing. Pure: a Record in, text out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run/record.h"

namespace hone::run {

std::vector<std::pair<std::string, std::string>> manifest_rows(const Record& record);
std::string manifest_text(const Record& record);

// Keys of Record::environment that must be equal for two measurements of one Run to mean the same: another machine,
// core count or engine version needs a new baseline. One sentence per difference.
std::vector<std::string> environment_differences(const std::map<std::string, std::string>& then,
                                                 const std::map<std::string, std::string>& now);

}  // namespace hone::run
