// Small questions about text that several rooms ask: which known word is nearest, what is safe in a file name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// The known word with the smallest edit distance (Levenshtein), or "" when none is within a third of its length.
std::string nearest(std::string_view word, const std::vector<std::string>& known);
// Lower case, [a-z0-9]+ joined by '-', at most `limit` characters; "model" when nothing is left (artifacts.md 1).
std::string slug(std::string_view text, size_t limit = 40);
// "1 node", "3 nodes".
std::string counted(long long count, std::string_view noun);
// "950 B", "1.4 MB" (powers of 1000).
std::string bytes_text(double bytes);

}  // namespace hone
