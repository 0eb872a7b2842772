// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

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
  if (fs::exists(record.folder / run::kBest / run::kSums)) HONE_TRY(run::write_sums(record.folder / run::kBest));
  return paths;
}

}  // namespace hone::report
