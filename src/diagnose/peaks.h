// Peaks: what this machine can do at best, by a micro-benchmark of at most 3 s (oneDNN's matrix products in f32, bf16,
// int8; a triad for bandwidth), cached in $XDG_CACHE_HOME/hone (else ~/.cache/hone)/machine-<hash>.json.
//
// "All cores" = one independent product per core: the roof needs no perfect parallel efficiency of one kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/file.h"
#include "base/result.h"
#include "diagnose/diagnosis.h"

namespace hone::diagnose {

// What /proc and /sys say; nothing measured.
Machine describe_machine();
// Measures now; takes up to `seconds`. What can't be measured stays 0 with a note.
Result<Machine> measure_machine(double seconds = 3);
// Reads the cache, else measures and writes it (atomically). An unreadable or unwritable cache is a note, no error.
Result<Machine> machine_peaks();
// The file machine_peaks() uses for this machine.
fs::path machine_cache_file(const Machine& machine);
// The same with the cache folder and the measurement passed in (tests).
Result<Machine> machine_peaks(const fs::path& folder, const std::function<Result<Machine>()>& measure);

}  // namespace hone::diagnose
