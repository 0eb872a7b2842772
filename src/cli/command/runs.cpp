// hone runs: list runs, show one, or put two beside each other.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "report/sentences.h"
#include "run/run.h"

namespace hone::cli {

namespace {

struct Flags {
  std::string folder = "runs";
  std::string show;
  std::vector<std::string> diff;
  CLI::App *show_app = nullptr, *diff_app = nullptr;
};

Result<int> list(const Flags& flags, const Global& global) {
  std::error_code code;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(flags.folder, code))
    if (fs::exists(entry.path() / "journal.sqlite")) folders.push_back(entry.path());
  if (code)
    return fail(bad_input("can't list runs (" + code.message() + ")", flags.folder, "give the folder that holds them"));
  std::sort(folders.begin(), folders.end());
  Json rows = Json::array();
  for (const fs::path& folder : folders) {
    const Result<run::Record> record = run::load_record(folder);
    if (!record) {
      fmt::print(stderr, "hone: {}\n", record.error().line());
      continue;
    }
    const auto speedup = record->speedup();
    rows.push_back({{"run_dir", folder.string()},
                    {"model", record->plan.model.filename().string()},
                    {"trials", record->trials.size()},
                    {"finished", record->progress == run::Progress::kFinished},
                    {"speedup", speedup ? Json(speedup->estimate) : Json(nullptr)}});
    if (!global.json)
      fmt::print("{:<56} {:>3} trials  {}\n", folder.string(), record->trials.size(),
                 record->progress == run::Progress::kFinished && speedup ? report::ratio(*speedup) : "not finished");
  }
  if (global.json) print_document("runs", {{"runs", rows}});
  if (!global.json && rows.empty()) fmt::print("no runs in {}\n", flags.folder);
  return 0;
}

Result<int> show(const std::string& folder, const Global& global) {
  const run::Record record = HONE_TRY(run::load_record(folder));
  if (global.json) {
    print_document("runs", record.to_json());
    return 0;
  }
  fmt::print("{}\n{}\nstopped because of {}\n\n", record.plan.model.string(), report::headline(record),
             report::stop_sentence(record));
  for (const run::Trial& trial : record.trials)
    fmt::print(
        "{:>3}  {:<44} {:<24} {}\n", trial.number, trial.title(),
        trial.comparison ? report::ratio(trial.comparison->speedup) : "-",
        trial.verdict ? report::verdict_word(trial) + ": " + trial.verdict->reason : report::verdict_word(trial));
  return 0;
}

Result<int> diff(const std::string& a_folder, const std::string& b_folder, const Global& global) {
  const run::Record a = HONE_TRY(run::load_record(a_folder)), b = HONE_TRY(run::load_record(b_folder));
  const bool same_protocol = a.protocol && b.protocol && a.protocol->hash() == b.protocol->hash();
  auto verdicts = [](const run::Record& record) {
    std::map<std::string, std::string> out;
    for (const run::Trial& trial : record.trials)
      if (trial.verdict) out[trial.title()] = report::verdict_word(trial);
    return out;
  };
  const auto in_a = verdicts(a), in_b = verdicts(b);
  std::map<std::string, std::pair<std::string, std::string>> all;
  for (const auto& [title, word] : in_a) all[title].first = word;
  for (const auto& [title, word] : in_b) all[title].second = word;
  Json rows = Json::array();
  for (const auto& [title, words] : all) {
    rows.push_back({{"change", title}, {"a", words.first}, {"b", words.second}});
    if (!global.json && words.first != words.second)
      fmt::print("{:<44} {:<22} {}\n", title, words.first.empty() ? "-" : words.first,
                 words.second.empty() ? "-" : words.second);
  }
  if (global.json) {
    print_document("runs", {{"same_protocol", same_protocol}, {"changes", rows}});
    return 0;
  }
  if (!same_protocol) fmt::print("the runs have different Protocols: their times can't be compared\n");
  fmt::print("a: {}\nb: {}\n", report::headline(a), report::headline(b));
  return 0;
}

Action declare(CLI::App& app, Global& global) {
  auto flags = std::make_shared<Flags>();
  app.add_option("DIR", flags->folder, "the folder that holds the runs (default runs)");
  flags->show_app = app.add_subcommand("show", "one run: its result and every trial");
  flags->show_app->add_option("RUNDIR", flags->show, "a run directory")->required();
  flags->diff_app = app.add_subcommand("diff", "two runs: which changes ended otherwise");
  flags->diff_app->add_option("RUNDIRS", flags->diff, "two run directories")->required()->expected(2);
  return [flags, &global]() -> Result<int> {
    if (flags->show_app->parsed()) return show(flags->show, global);
    if (flags->diff_app->parsed()) return diff(flags->diff[0], flags->diff[1], global);
    return list(*flags, global);
  };
}

}  // namespace

extern const Command runs_command;
const Command runs_command = {"runs", "list runs, show one, compare two",
                              "  hone runs\n  hone runs show runs/20260131_model_optimization\n"
                              "  hone runs diff runs/a runs/b --json",
                              declare};

}  // namespace hone::cli
