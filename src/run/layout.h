// Layout: the names of everything in a run directory (artifacts.md section 1), and paths that survive being moved.
//
// Files inside a run name each other by paths relative to the run; what lies outside (the user's model, the data) is
// named absolutely, because the run may be moved and the model not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"
#include "engine/engine.h"

namespace hone::run {

inline constexpr std::string_view kManifest = "manifest.txt", kProtocol = "protocol.json", kJournal = "journal.sqlite",
                                  kTrialsTsv = "trials.tsv", kTrialsMd = "trials.md", kLock = "lock",
                                  kSamples = "data",  // the Protocol's samples, as workers read them
    kReference = "reference",                         // outputs of the accuracy reference
    kProfileFolder = "step1_profile", kAnalysisFolder = "step2_analysis", kPatches = "step3_patches",
                                  kValidation = "step4_validation", kBest = "best";

// "patch_007_fuse-gelu", below kPatches.
std::string patch_name(int trial, std::string_view change);
// runs/YYYYMMDD_<model slug>_optimization, or the first free of _2, _3, ... `day`: "20260131". Makes the folder.
Result<fs::path> make_run_folder(const fs::path& parent, const fs::path& model, std::string_view day);

// `path` relative to `folder` when it lies inside, else unchanged; and back.
fs::path portable(const fs::path& path, const fs::path& folder);
fs::path located(const fs::path& path, const fs::path& folder);
engine::Configuration portable(engine::Configuration configuration, const fs::path& folder);
engine::Configuration located(engine::Configuration configuration, const fs::path& folder);

// Makes renames inside a folder durable (fsync of the folder itself).
Status sync_folder(const fs::path& folder);
// Removes what a killed process left half-made: *.tmp files and folders, at any depth. Returns their relative paths.
Result<std::vector<std::string>> remove_half_made(const fs::path& folder);

}  // namespace hone::run
