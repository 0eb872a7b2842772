// SPDX-License-Identifier: Apache-2.0
#include "change/fold/layout.h"

#include <algorithm>
#include <cstring>

namespace hone::change::fold {

Strides strides_of(const Dims& dims) {
  Strides strides(dims.size());
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return strides;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    out[out.size() - 1 - i] = left == 1 ? right : left;
  }
  return out;
}

Strides broadcast_strides(const Dims& from, const Dims& to) {
  const Strides own = strides_of(from);
  Strides strides(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis) strides[lead + axis] = from[axis] == 1 ? 0 : own[axis];
  return strides;
}

bool has_whole_bytes(model::DType dtype) {
  const int bits = model::dtype_bits(dtype);
  return bits > 0 && bits % 8 == 0;
}

model::Tensor gather_strided(const model::Tensor& source, const Dims& dims, const Strides& strides, int64_t offset) {
  std::span<std::byte> out;
  model::Tensor result = model::Tensor::make(source.dtype(), dims, &out);
  if (result.count() == 0) return result;
  const auto size = static_cast<size_t>(model::dtype_bits(source.dtype()) / 8);
  // The innermost axis is copied as one run when it is contiguous.
  const bool runs = !dims.empty() && strides.back() == 1;
  const int64_t run = runs ? dims.back() : 1;
  Dims outer = dims;
  Strides outer_strides = strides;
  if (runs) {
    outer.pop_back();
    outer_strides.pop_back();
  }
  std::byte* to = out.data();
  const size_t bytes = size * static_cast<size_t>(run);
  walk<1>(outer, {outer_strides}, {offset}, [&](const std::array<int64_t, 1>& at) {
    std::memcpy(to, source.bytes().data() + static_cast<size_t>(at[0]) * size, bytes);
    to += bytes;
  });
  return result;
}

}  // namespace hone::change::fold
