// Format: one profile format: how to recognise it by content, and how to read it. Listed in formats.def; one file each
// in format/. All end in the same Profile, so nothing after this room knows formats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace hone::profile {

// The surest wins; a tie of two formats is an error (reported with both names).
enum class Likelihood { kNo, kMaybe, kSure };

struct Input {
  fs::path path;
  std::string_view bytes;  // the whole file, mapped
  std::string_view head() const { return bytes.substr(0, 64 * 1024); }
};

struct Format {
  std::string_view id;
  std::string_view about;  // one line for lists and docs
  Likelihood (*sniff)(const Input& input);
  Result<Profile> (*read)(const Input& input);
};

// All formats, in the order of formats.def.
const std::vector<Format>& all_formats();

// Chooses the format by content and reads.
Result<Profile> read(const Input& input);

}  // namespace hone::profile
