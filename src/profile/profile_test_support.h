// For this room's tests: profiles from text, tables as text. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "base/file.h"
#include "profile/format.h"
#include "profile/operators.h"
#include "profile/profile.h"

namespace hone::profile {

// From a copy of exactly the text's size, so that a read beyond it is seen by the sanitizer.
inline Result<Profile> read_text(std::string_view text) {
  const std::vector<char> bytes(text.begin(), text.end());
  return read(Input{"profile.json", {bytes.data(), bytes.size()}});
}

inline std::string error_line(std::string_view text) {
  const auto profile = read_text(text);
  return profile ? "no error" : profile.error().line();
}

// Operators of at least 2 % of the kernel time, one line each.
inline std::string table_of(const std::string& file) {
  const Profile profile = read(fs::path(HONE_TEST_DATA) / "profiles" / file).value();
  const Operators sums = operators(profile);
  std::string text = fmt::format("wall {}  busy {}  kernels {}\n", sums.wall_ns, sums.busy_ns, sums.kernel_ns);
  for (const Operator& row : sums.rows)
    if (row.self_ns * 50 >= sums.kernel_ns)
      text += fmt::format("{} {} {} {} ({}) ({}) -> ({})\n", row.self_ns, row.calls, profile.text(row.type),
                          profile.text(row.name), profile.text(row.shapes), profile.text(row.dtypes),
                          profile.text(row.output_shapes));
  return text;
}

inline std::string expected_table(const std::string& file) {
  return read_file(fs::path(HONE_TEST_DATA) / "profiles" / file).value();
}

}  // namespace hone::profile
