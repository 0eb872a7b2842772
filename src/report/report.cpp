// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "run/best.h"
#include "run/layout.h"

namespace hone::report {

#define HONE_WRITER(function, id, path) std::string function(const run::Record& record);
#include "report/writers.def"
#undef HONE_WRITER

const std::vector<Writer>& all_writers() {
  static const std::vector<Writer> writers = {
#define HONE_WRITER(function, id, path) Writer{id, path, &function},
#include "report/writers.def"
#undef HONE_WRITER
  };
  return writers;
}

Result<std::vector<fs::path>> write_reports(const run::Record& record) {
  std::vector<fs::path> paths;
  for (const Writer& writer : all_writers()) {
    const fs::path path = record.folder / writer.path;
    HONE_TRY(make_directories(path.parent_path()));
    HONE_TRY(write_file(path, writer.write(record)));
    paths.push_back(path);
  }
  const fs::path best = record.folder / run::kBest;
  if (!fs::exists(best / run::kSums)) return paths;
  std::vector<fs::path> added;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(added),
               [&](const fs::path& path) { return path.parent_path() == best; });
  HONE_TRY(run::add_sums(best, added));
  return paths;
}

}  // namespace hone::report
