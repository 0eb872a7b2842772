// Dims of synthetic inputs: the user's --shape first, then what its symbols imply, then stated defaults.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/inputs.h"

namespace hone::protocol {

// Dims for every input. One symbol gets one number; "past + 1" is computed when its parts are known. Notes say what
// was chosen: 1 for the first dim and for "batch", 224 for the sides of an image, else 16.
Result<Shapes> resolve_dims(const std::vector<InputInfo>& inputs, const Shapes& shapes,
                            std::vector<std::string>& notes);

}  // namespace hone::protocol
