// best/: the model and settings to deploy, with checksums and the way back to the trials (artifacts.md section 1).
// Built aside as best.tmp/ and renamed whole. how_to_load.md is report/'s.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/file.h"
#include "base/result.h"
#include "run/record.h"

namespace hone::run {

// `copy_model(folder)` puts the model of the best (with external data) into `folder`.
Status publish_best(const Record& record, const std::function<Status(const fs::path& folder)>& copy_model);

// Copies a file by hard link where the file system can, else byte by byte; synced.
Status link_or_copy(const fs::path& from, const fs::path& to);
// Replaces `path` by a hard link to `twin`, a file with the same content; where links don't work, leaves it alone.
Status link_over(const fs::path& twin, const fs::path& path);

}  // namespace hone::run
