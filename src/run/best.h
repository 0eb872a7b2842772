// best/: the model and settings to deploy, with checksums and the way back to the trials (artifacts.md section 1).
// Built aside as best.tmp/ and renamed whole. how_to_load.md is report/'s.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "run/record.h"

namespace hone::run {

// "model.onnx": what the deployed model is called in best/, whatever the original's name.
std::string best_model_name(const Record& record);
// `copy_model(to)` puts the model of the best (with external data) there.
Status publish_best(const Record& record, const std::function<Status(const fs::path& to)>& copy_model);

// Puts these files of `folder` into its sha256sums; the lines of all others stay, so that what was published and has
// changed since is still found out. report/ writes some into best/ after it is published.
inline constexpr const char* kSums = "sha256sums";
Status add_sums(const fs::path& folder, const std::vector<fs::path>& files);

// Byte by byte, synced.
Status copy_bytes(const fs::path& from, const fs::path& to);
// By hard link where the file system can.
Status link_or_copy(const fs::path& from, const fs::path& to);
// Replaces `path` by a hard link to `twin`, a file with the same content; where links don't work, leaves it alone.
Status link_over(const fs::path& twin, const fs::path& path);

}  // namespace hone::run
