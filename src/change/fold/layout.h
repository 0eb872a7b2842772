// How elements of a dense tensor are walked: strides, broadcasting, and copies through them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/tensor.h"

namespace hone::change::fold {

using Dims = std::vector<int64_t>;
using Strides = std::vector<int64_t>;  // in elements

// Row-major strides of `dims`.
Strides strides_of(const Dims& dims);
// ONNX (numpy) broadcasting of two shapes; nullopt when they don't fit.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);
// Strides that read a tensor of shape `from` as if it had the shape `to` that it broadcasts to.
Strides broadcast_strides(const Dims& from, const Dims& to);

// Calls visit(offsets) for each index of `dims` in row-major order; offsets[k] is the element of operand k.
template <size_t N, class Visit>
void walk(const Dims& dims, const std::array<Strides, N>& strides, std::array<int64_t, N> offsets, Visit visit) {
  int64_t total = 1;
  for (const int64_t dim : dims) total *= dim;
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < total; ++i) {
    visit(offsets);
    for (size_t axis = dims.size(); axis-- > 0;) {
      for (size_t k = 0; k < N; ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < dims[axis]) break;
      for (size_t k = 0; k < N; ++k) offsets[k] -= strides[k][axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

// True for types whose elements are whole bytes (not strings, not 4-bit types).
bool has_whole_bytes(model::DType dtype);
// The tensor of shape `dims` whose element at an index is the element of `source` at offset + index · strides.
model::Tensor gather_strided(const model::Tensor& source, const Dims& dims, const Strides& strides, int64_t offset = 0);

}  // namespace hone::change::fold
