// Type: text form and small questions.
// SPDX-License-Identifier: Apache-2.0
#include "model/type.h"

#include <fmt/format.h>

namespace hone::model {

std::optional<std::vector<int64_t>> Type::dims() const {
  if (!shape) return std::nullopt;
  std::vector<int64_t> out;
  for (const Dim& dim : *shape) {
    if (!dim.known()) return std::nullopt;
    out.push_back(dim.value);
  }
  return out;
}

Type Type::tensor(DType dtype, std::optional<Shape> shape) { return {TypeKind::kTensor, dtype, std::move(shape)}; }

std::string to_text(const Type& type) {
  std::string inner = dtype_name(type.dtype);
  if (type.shape) {
    std::string dims;
    for (const Dim& dim : *type.shape) {
      if (!dims.empty()) dims += ',';
      dims += dim.known() ? fmt::format("{}", dim.value) : dim.symbol.empty() ? "?" : dim.symbol;
    }
    inner += '[' + dims + ']';
  }
  switch (type.kind) {
    case TypeKind::kUnknown:
      return "unknown";
    case TypeKind::kTensor:
      return inner;
    case TypeKind::kSparseTensor:
      return "sparse(" + inner + ')';
    case TypeKind::kSequence:
      return "sequence(" + inner + ')';
    case TypeKind::kOptional:
      return "optional(" + inner + ')';
    case TypeKind::kMap:
      return "map(" + inner + ')';
  }
  return "unknown";
}

}  // namespace hone::model
