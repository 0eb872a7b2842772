// A file that holds one serialized onnx.TensorProto: how the ONNX backend tests keep inputs and outputs (input_0.pb).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/file.h"
#include "base/result.h"
#include "model/tensor.h"

namespace hone::model {

// The tensor with its name, which may be empty. The bytes are untrusted: what is no tensor, or lies about its size, is
// an Error that names the file.
Result<NamedTensor> read_tensor_file(const fs::path& file);

}  // namespace hone::model
