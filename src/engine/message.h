// Engines fail with long messages: source files, signatures, stacks, hints. What a user needs is one line of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace hone::engine {

// The first line that says something, without "/path/file.cc:123 signature" parts, "Exception from ..." frames and
// "Check 'x' failed at y" wrappers; a line that ends in ':' takes the next along, and a summary its first item
// ("-- ..."). At most 400 characters.
std::string first_meaningful_line(std::string_view message);

}  // namespace hone::engine
