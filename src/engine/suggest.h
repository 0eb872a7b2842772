// "did you mean X?" for a mistyped engine, setting or value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace hone::engine {

// `otherwise` when no known word is near.
inline std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string otherwise) {
  const std::string near = nearest(word, known);
  return near.empty() ? otherwise : "did you mean " + near + "?";
}

}  // namespace hone::engine
