// Model: the ONNX checker.
// SPDX-License-Identifier: Apache-2.0
#include "model/model_state.h"

#include "onnx/checker.h"

namespace hone::model {

Status Model::check() const {
  // The reader has checked that data and shapes agree; the checker gets tensors without elements, so that no weight
  // is copied.
  const onnx::ModelProto proto = state_->write(TensorData::kEmpty, nullptr);
  try {
    onnx::checker::check_model(proto);
  } catch (const std::exception& error) {
    return fail(bad_input(std::string("model is not valid ONNX: ") + error.what(), state_->path.string()));
  }
  return {};
}

}  // namespace hone::model
