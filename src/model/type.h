// Type of a graph value: element type and shape with symbolic dimensions (onnx.TypeProto).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/tensor.h"

namespace hone::model {

struct Dim {
  int64_t value = -1;  // -1: not known
  std::string symbol;  // "batch"; empty when the model gives none
  bool known() const { return value >= 0; }
  bool operator==(const Dim&) const = default;
};

using Shape = std::vector<Dim>;

enum class TypeKind { kUnknown, kTensor, kSparseTensor, kSequence, kOptional, kMap };

struct Type {
  TypeKind kind = TypeKind::kUnknown;
  DType dtype = DType::kUndefined;  // of the tensor, or of the innermost element
  std::optional<Shape> shape;       // nullopt: rank not known
  bool operator==(const Type&) const = default;

  int rank() const { return shape ? static_cast<int>(shape->size()) : -1; }
  // All dims as numbers, or nullopt when the rank or any dim is not known.
  std::optional<std::vector<int64_t>> dims() const;
  static Type tensor(DType dtype, std::optional<Shape> shape = std::nullopt);
};

// "float32[batch,3,224,224]", "int64[?]", "sequence(float32)", "float32" (rank unknown).
std::string to_text(const Type& type);

}  // namespace hone::model
