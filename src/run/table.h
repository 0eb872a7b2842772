// Tables: trials.tsv and trials.md, one row per Trial (artifacts.md section 3). Pure: a Record in, text out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run/record.h"

namespace hone::run {

const std::vector<std::string_view>& trial_columns();
// One cell per column; "-" where there is nothing. Tabs and line breaks inside a text become spaces.
std::vector<std::string> trial_cells(const Trial& trial, const Record& record);
std::string trials_tsv(const Record& record);
std::string trials_md(const Record& record);

}  // namespace hone::run
