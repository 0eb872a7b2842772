// The calibration that `hone doctor` measured, kept for later runs: one file per kind of machine.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/hash.h"
#include "base/machine.h"
#include "measure/place.h"

namespace hone::measure {

namespace {

constexpr int kVersion = 1;  // raise it when the canary or the names of places change their meaning

// A calibration holds for this CPU model and this set of CPUs; another guest of the same kind may share it.
fs::path file_in(const fs::path& folder) {
  const MachineId id = machine_id();
  const std::string identity = fmt::format("{}|{}|{}|{}", kVersion, id.cpu, id.cores, id.numa_nodes);
  return folder / fmt::format("places-{}.json", sha256_hex(identity).substr(0, 12));
}

}  // namespace

Calibration machine_calibration(const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty() || !fs::exists(file_in(folder), ignored)) return default_calibration();
  const auto value = read_json(file_in(folder));
  const auto stored = value ? Calibration::from_json(*value) : Result<Calibration>(fail(value.error()));
  // Damaged: as good as none. `measured` tells in every report which of the two was used.
  return stored ? *stored : default_calibration();
}

Calibration machine_calibration() { return machine_calibration(cache_folder()); }

Status store_calibration(const Calibration& calibration, const fs::path& folder) {
  if (folder.empty()) return fail(io_error("no cache folder", "HOME", "set HOME or XDG_CACHE_HOME"));
  HONE_TRY(make_directories(folder));
  return write_file(file_in(folder), dump_json(calibration.to_json()));
}

Status store_calibration(const Calibration& calibration) { return store_calibration(calibration, cache_folder()); }

}  // namespace hone::measure
