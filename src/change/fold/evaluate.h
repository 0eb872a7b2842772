// The constant evaluator: what a node gives when all its inputs are constants.
//
// For the operators that exporters leave between constants: shape arithmetic, data movement, elementwise arithmetic.
// Only operators whose result has one right answer bit by bit: IEEE +, -, ·, /, sqrt and what moves or compares data.
// Exp, Sin, Erf, MatMul and float sums are left to the engine: its rounding is its own, and the accuracy class of
// folding is "exact". Integer division by zero, casts out of range and NaN in Min/Max are not evaluated either (engines
// differ). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/graph.h"
#include "model/tensor.h"

namespace hone::change::fold {

struct Call {
  const model::Node& node;
  int64_t opset;                             // of the ONNX domain
  std::vector<const model::Tensor*> inputs;  // nullptr: absent
  size_t max_bytes;                          // an output may not be larger
  const model::Tensor* input(size_t slot) const { return slot < inputs.size() ? inputs[slot] : nullptr; }
};

// The outputs in order (those the node has), or a sentence why it can't be evaluated; empty sentence: no reason worth
// telling (not an operator of the list).
struct Outcome {
  std::vector<model::Tensor> outputs;
  std::string why;
  static Outcome of(model::Tensor tensor) { return {{std::move(tensor)}, {}}; }
  static Outcome not_evaluated(std::string why) { return {{}, std::move(why)}; }
};

// True when the evaluator knows the operator.
bool can_evaluate(const model::Node& node);
Outcome evaluate(const Call& call);
// True when an output of this shape is within the call's limit.
bool fits(const Call& call, model::DType dtype, const std::vector<int64_t>& dims);
inline constexpr const char* kTooLarge = "its result would make the model larger";

}  // namespace hone::change::fold
