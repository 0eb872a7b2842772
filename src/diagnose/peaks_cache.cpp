// The cache of measured peaks: one file per kind of machine. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/hash.h"
#include "diagnose/peaks.h"

namespace hone::diagnose {

namespace {

constexpr std::string_view kVersion = "1";  // of the micro-benchmark: raise it when figures change their meaning

std::string file_name(const Machine& m) {
  const std::string identity =
      fmt::format("{}|{}|{}|{}|{}|{}", kVersion, m.cpu, m.cores, fmt::join(m.features, ","), m.l2_bytes, m.l3_bytes);
  return fmt::format("machine-{}.json", sha256_hex(identity).substr(0, 12));
}

Result<Machine> read_cached(const fs::path& file) {
  const Json value = HONE_TRY(read_json(file));
  return Machine::from_json(value);
}

// Figures taken beside other programs are rough: they are believed for an hour (own choice), not for ever.
bool is_fresh(const fs::path& file, const Machine& m) {
  const bool rough = std::any_of(m.notes.begin(), m.notes.end(), [](const std::string& note) {
    return note.starts_with("measured while other programs");
  });
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  return !rough || (!error && fs::file_time_type::clock::now() - written < std::chrono::hours(1));
}

}  // namespace

fs::path machine_cache_file(const Machine& machine) { return cache_folder() / file_name(machine); }

Result<Machine> machine_peaks(const fs::path& folder, const std::function<Result<Machine>()>& measure) {
  const fs::path file = folder / file_name(describe_machine());
  std::string note;
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    auto cached = read_cached(file);
    if (cached && is_fresh(file, *cached)) return cached;
    if (!cached) note = "measured anew, the cached peaks can't be read: " + cached.error().line();
  }
  Machine machine = HONE_TRY(measure());
  Status written = make_directories(folder);
  if (written) written = write_file(file, dump_json(machine.to_json()));
  if (!written) machine.notes.push_back("the peaks could not be cached: " + written.error().line());
  if (!note.empty()) machine.notes.push_back(std::move(note));
  return machine;
}

Result<Machine> machine_peaks() {
  const fs::path folder = cache_folder();
  if (folder.empty()) return measure_machine();
  return machine_peaks(folder, [] { return measure_machine(); });
}

}  // namespace hone::diagnose
