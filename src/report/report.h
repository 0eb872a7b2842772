// Reports: everything a person reads about a Run. Reads a Record and nothing else, so an old Run can be reported again
// and every number traces to a file of the run directory. One file per report in writer/, one line in writers.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/record.h"

namespace hone::report {

struct Writer {
  std::string_view id;    // "html"
  std::string_view path;  // relative to the run directory: "report.html"
  std::string (*write)(const run::Record& record);
};

const std::vector<Writer>& all_writers();

// Writes every report of a Run into its folder; each file appears whole or not at all. Returns the paths.
Result<std::vector<fs::path>> write_reports(const run::Record& record);

}  // namespace hone::report
