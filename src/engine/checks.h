// What every engine checks before it hands something to its library, with one wording for all: the libraries' own
// messages differ and mislead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"

namespace hone::engine {

// Ok when every input has a tensor of its dtype, rank and fixed dims; else an Error that names the input.
// Tensors the session has no input for are not looked at: a rewritten model may have lost an input nothing read.
Status check_sample(const std::vector<TensorInfo>& inputs, const model::NamedTensors& sample);
// Ok when every input is a tensor; else kUnsupported, naming the first that is not.
Status require_tensor_inputs(const std::vector<TensorInfo>& inputs, const fs::path& model);
// Ok when `model` is a file that can be read, and the profile's folder (if any) exists.
Status require_files(const fs::path& model, const OpenOptions& options);
// "2x3x?", "scalar" for rank 0.
std::string dims_text(const std::vector<int64_t>& dims);

}  // namespace hone::engine
