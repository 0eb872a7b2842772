// UTF-8 to and from code points: numpy stores text as UCS-4, ONNX as UTF-8. Nothing else about text in here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone::protocol {

// nullopt when the bytes are not well-formed UTF-8 (overlong forms and surrogates are not).
std::optional<std::vector<char32_t>> from_utf8(std::string_view text);
// Values that are no code points become U+FFFD.
std::string to_utf8(std::span<const char32_t> points);

}  // namespace hone::protocol
