// hone report: make report.html and final_report.md of a run again, from its journal.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include "base/process.h"
#include "cli/command.h"
#include "report/report.h"
#include "run/run.h"

namespace hone::cli {

namespace {

struct Flags {
  std::string folder;
  bool open = false;
};

Result<int> run(const Flags& flags, const Global& global) {
  const run::Record record = HONE_TRY(run::load_record(flags.folder));
  const std::vector<fs::path> files = HONE_TRY(report::write_reports(record));
  if (global.json) {
    Json names = Json::array();
    for (const fs::path& file : files) names.push_back(file.string());
    print_document("report", {{"run_dir", record.folder.string()}, {"files", names}});
  } else if (!global.quiet) {
    for (const fs::path& file : files) fmt::print("wrote {}\n", file.string());
  }
  if (flags.open) {
    const fs::path page = record.folder / "report.html";
    ::execlp("xdg-open", "xdg-open", page.c_str(), nullptr);
    return fail(tool_failed("no xdg-open to show the report with", page.string(), "open the file in a browser"));
  }
  return 0;
}

Action declare(CLI::App& app, Global& global) {
  auto flags = std::make_shared<Flags>();
  app.add_option("RUNDIR", flags->folder, "a run directory")->required();
  app.add_flag("--open", flags->open, "show it in the browser");
  return [flags, &global]() { return run(*flags, global); };
}

}  // namespace

extern const Command report_command;
const Command report_command = {"report", "make a run's reports again",
                                "  hone report runs/20260131_model_optimization --open", declare};

}  // namespace hone::cli
