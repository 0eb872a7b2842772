// SPDX-License-Identifier: Apache-2.0
#include "run/best.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "run/layout.h"
#include "run/shell.h"

namespace hone::run {

namespace {

Status remove_folder(const fs::path& path) {
  std::error_code code;
  fs::remove_all(path, code);
  if (code) return fail(io_error("can't remove folder (" + code.message() + ")", path.string()));
  return {};
}

Status rename_folder(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::rename(from, to, code);
  if (code) return fail(io_error("can't rename folder (" + code.message() + ")", to.string()));
  return {};
}

Result<std::vector<fs::path>> files_in(const fs::path& folder) {
  std::error_code code;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, code)) files.push_back(entry.path());
  if (code) return fail(io_error("can't read folder (" + code.message() + ")", folder.string()));
  std::sort(files.begin(), files.end());
  return files;
}

std::string reproduce_script(const Record& record) {
  const Trial* best = record.best();
  std::string text =
      "#!/bin/sh\n# Compares the best of this run with the original, as the run did. Needs `hone` in PATH.\n";
  for (const Trial* t : record.chain(best->number))
    text += one_line(fmt::format("# kept: trial {} {}: {}", t->number, t->title(), t->summary)) + "\n";
  text += fmt::format(
      "cd \"$(dirname \"$0\")\" || exit 1\nexec hone bench {} --config {} \\\n"
      "  --vs {} --vs-config settings.json --data ../{} --seed {} \"$@\"\n",
      shell_quoted(record.plan.model.string()), shell_quoted("../" + record.baseline()->dir + "/settings.json"),
      shell_quoted(best_model_name(record)), kSamples, record.plan.seed);
  return text;
}

}  // namespace

Status link_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::create_hard_link(from, to, code);
  return code ? copy_bytes(from, to) : Status{};
}

Status copy_bytes(const fs::path& from, const fs::path& to) {
  auto source = HONE_TRY(MappedFile::open(from));
  AtomicFile file = HONE_TRY(AtomicFile::create(to));
  HONE_TRY(file.write(source->bytes()));
  return file.commit();
}

Status link_over(const fs::path& twin, const fs::path& path) {
  fs::path temporary = path;
  temporary += ".tmp";
  std::error_code code;
  fs::remove(temporary, code);
  fs::create_hard_link(twin, temporary, code);
  if (code) return {};  // another file system, or one without links: two copies are right too
  fs::rename(temporary, path, code);
  if (code) return fail(io_error("can't rename file (" + code.message() + ")", path.string()));
  return {};
}

std::string best_model_name(const Record& record) {
  return "model" + record.best()->configuration.model.extension().string();
}

Status add_sums(const fs::path& folder, const std::vector<fs::path>& files) {
  constexpr size_t kDigits = 64;
  std::map<std::string, std::string> sums;  // name -> digits, sorted as the folder is
  std::error_code code;
  if (fs::exists(folder / kSums, code)) {
    std::istringstream lines(HONE_TRY(read_file(folder / kSums)));
    for (std::string line; std::getline(lines, line);)
      if (line.size() > kDigits + 2) sums[line.substr(kDigits + 2)] = line.substr(0, kDigits);
  }
  for (const fs::path& file : files) sums[file.filename().string()] = HONE_TRY(sha256_of_file(file));
  std::string text;
  for (const auto& [name, digits] : sums) text += fmt::format("{}  {}\n", digits, name);
  return write_file(folder / kSums, text);
}

Status publish_best(const Record& record, const std::function<Status(const fs::path& to)>& copy_model) {
  const fs::path target = record.folder / kBest;
  fs::path made = target;
  made += ".tmp";
  HONE_TRY(remove_folder(made));
  HONE_TRY(make_directories(made));
  HONE_TRY(copy_model(made / best_model_name(record)));
  const Trial* best = record.best();
  Json settings = {{"schema", "hone.settings/1"},
                   {"engine", best->configuration.engine},
                   {"model", best_model_name(record)},
                   {"settings", best->configuration.settings}};
  HONE_TRY(write_file(made / "settings.json", dump_json(settings)));
  HONE_TRY(write_file(made / "reproduce.sh", reproduce_script(record)));
  std::error_code code;
  fs::permissions(made / "reproduce.sh", fs::perms(0755), code);
  HONE_TRY(add_sums(made, HONE_TRY(files_in(made))));
  HONE_TRY(sync_folder(made));
  // A kill between these two leaves best.tmp/, which resume() removes before it publishes again.
  HONE_TRY(remove_folder(target));
  return rename_folder(made, target);
}

}  // namespace hone::run
