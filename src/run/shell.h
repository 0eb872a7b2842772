// Shell: text of others (paths, titles, summaries) that goes into the shell scripts of a run directory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace hone::run {

// One word of a POSIX shell that means exactly this text: 'it'\''s'.
std::string shell_quoted(std::string_view text);
// The text on one line, for a comment: control characters become spaces.
std::string one_line(std::string text);

}  // namespace hone::run
