// Cost: the FLOPs and bytes an operator needs at least, from its shapes. Not known is -1, never 0.
//
// Conventions: a multiply-add is 2 FLOPs; bytes are every input read once and every output written once (what a perfect
// cache would leave), but views that copy nothing and rows that Gather doesn't touch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "model/tensor.h"

namespace hone::diagnose {

enum class OperatorClass {
  kMatMul,
  kConv,
  kAttention,
  kRecurrent,
  kNorm,
  kElementwise,
  kReduction,
  kDataMovement,
  kQuantize,
  kOther
};
std::string_view to_text(OperatorClass c);  // "MatMul"

// An input or output as it was in the run.
struct Operand {
  bool present = false;  // optional inputs may be absent
  bool known = false;    // dims are known
  model::DType dtype = model::DType::kUndefined;
  std::vector<int64_t> dims;
  bool constant = false;  // a weight or other constant of the model
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  double elements() const;
  double bytes() const;
};

struct Invocation {
  std::string_view type;              // as in operators.def
  const model::Node* node = nullptr;  // for attributes; may be missing when an engine made the kernel
  std::vector<Operand> inputs, outputs;
  const Operand* input(size_t i) const { return i < inputs.size() && inputs[i].known ? &inputs[i] : nullptr; }
  const Operand* output(size_t i) const { return i < outputs.size() && outputs[i].known ? &outputs[i] : nullptr; }
};

struct Cost {
  double flops = -1, bytes = -1;
  double weight_bytes = 0;  // of `bytes`, those of constants
};

OperatorClass class_of(std::string_view type);
// The ONNX operator an engine's type stands for ("FusedConv" -> "Conv"); the type itself when it has no row.
std::string_view onnx_type(std::string_view type);
Cost cost_of(const Invocation& invocation);

}  // namespace hone::diagnose
