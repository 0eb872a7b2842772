// Kernels that move elements without looking at them.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "change/fold/evaluate.h"
#include "change/fold/layout.h"

namespace hone::change::fold {

using model::Tensor;

namespace {

const Outcome kInvalid = Outcome::not_evaluated("its inputs do not fit together");

// Integers from an attribute, or from the constant in a slot.
std::optional<std::vector<int64_t>> ints(const Call& call, std::string_view attribute, size_t slot) {
  if (auto found = call.node.attribute_ints(attribute)) return found;
  const Tensor* tensor = call.input(slot);
  if (tensor == nullptr || !model::is_integer(tensor->dtype())) return std::nullopt;
  Result<std::vector<int64_t>> values = tensor->to_int64s();
  if (!values) return std::nullopt;
  return std::move(*values);
}

bool normalise(int64_t& axis, int64_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank;
}

std::optional<std::vector<int64_t>> axes_of(const Call& call, int64_t rank) {
  std::optional<std::vector<int64_t>> axes = ints(call, "axes", 1);
  if (!axes || axes->empty()) return std::nullopt;
  for (int64_t& axis : *axes)
    if (!normalise(axis, rank)) return std::nullopt;
  std::sort(axes->begin(), axes->end());
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end()) return std::nullopt;
  return axes;
}

// A part of an axis as Slice means it; count elements from start, step apart.
struct Span {
  int64_t start, count, step;
};

// The clamping of ONNX Slice (negative numbers count from the end, out-of-range numbers are cut), in a form that can't
// overflow at the ends of int64.
Span slice_span(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (dim == 0) return {0, 0, step};
  const auto from_end = [&](int64_t value) { return value < 0 ? value + dim : value; };
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  const int64_t first = std::clamp(from_end(start), int64_t{0}, high);
  const int64_t last = std::clamp(from_end(end), low, high);
  const int64_t distance = step > 0 ? last - first : first - last;
  if (distance <= 0) return {0, 0, step};
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  return {first, static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride + 1), step};
}

// Copies `count` runs of the axis into place: used by Concat and Split.
void copy_part(std::span<std::byte> to, size_t to_row, size_t to_offset, std::span<const std::byte> from,
               size_t from_row, size_t from_offset, size_t bytes, size_t rows) {
  for (size_t row = 0; row < rows && bytes > 0; ++row)
    std::memcpy(to.data() + row * to_row + to_offset, from.data() + row * from_row + from_offset, bytes);
}

size_t bytes_from(const Tensor& tensor, size_t axis) {
  size_t bytes = static_cast<size_t>(model::dtype_bits(tensor.dtype()) / 8);
  for (size_t i = axis; i < tensor.dims().size(); ++i) bytes *= static_cast<size_t>(tensor.dims()[i]);
  return bytes;
}

size_t rows_before(const Dims& dims, size_t axis) {
  size_t rows = 1;
  for (size_t i = 0; i < axis; ++i) rows *= static_cast<size_t>(dims[i]);
  return rows;
}

}  // namespace

Outcome identity(const Call& call) { return call.input(0) ? Outcome::of(*call.input(0)) : kInvalid; }

Outcome reshape(const Call& call) {
  const Tensor* data = call.input(0);
  std::optional<std::vector<int64_t>> target = ints(call, "shape", 1);
  if (data == nullptr || !target) return kInvalid;
  const bool zero_is_zero = call.node.attribute_int("allowzero", 0) != 0;
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < target->size(); ++i) {
    int64_t& dim = (*target)[i];
    if (dim == 0 && !zero_is_zero) {
      if (i >= data->dims().size()) return kInvalid;
      dim = data->dims()[i];
    }
    if (dim == -1 && open >= 0) return kInvalid;
    if (dim == -1) open = static_cast<int64_t>(i);
    if (dim < -1) return kInvalid;
    if (dim >= 0 && __builtin_mul_overflow(known, dim, &known)) return kInvalid;
  }
  if (open >= 0) {
    if (known == 0 || data->count() % known != 0) return kInvalid;
    (*target)[static_cast<size_t>(open)] = data->count() / known;
  }
  if (model::element_count(*target) != data->count()) return kInvalid;
  return Outcome::of(data->reshaped(*target));
}

Outcome flatten(const Call& call) {
  const Tensor* data = call.input(0);
  int64_t axis = call.node.attribute_int("axis", 1);
  if (data == nullptr) return kInvalid;
  if (axis < 0) axis += data->rank();
  if (axis < 0 || axis > data->rank()) return kInvalid;
  Dims dims = {1, 1};
  for (int64_t i = 0; i < data->rank(); ++i) dims[i < axis ? 0 : 1] *= data->dims()[static_cast<size_t>(i)];
  return Outcome::of(data->reshaped(dims));
}

Outcome squeeze(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr) return kInvalid;
  const bool all = call.input(1) == nullptr && !call.node.attribute_ints("axes");
  const auto axes = all ? std::vector<int64_t>{} : axes_of(call, data->rank());
  if (!axes) return kInvalid;
  Dims dims;
  for (int64_t i = 0; i < data->rank(); ++i) {
    const int64_t dim = data->dims()[static_cast<size_t>(i)];
    const bool named = std::binary_search(axes->begin(), axes->end(), i);
    if (named && dim != 1) return kInvalid;
    if (!named && !(all && dim == 1)) dims.push_back(dim);
  }
  return Outcome::of(data->reshaped(dims));
}

Outcome unsqueeze(const Call& call) {
  const Tensor* data = call.input(0);
  const auto given = ints(call, "axes", 1);
  if (data == nullptr || !given) return kInvalid;
  const int64_t rank = data->rank() + static_cast<int64_t>(given->size());
  const auto axes = axes_of(call, rank);
  if (!axes) return kInvalid;
  Dims dims;
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(std::binary_search(axes->begin(), axes->end(), i) ? 1 : data->dims()[next++]);
  return Outcome::of(data->reshaped(dims));
}

Outcome transpose(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr) return kInvalid;
  const auto rank = static_cast<size_t>(data->rank());
  std::vector<int64_t> perm(rank);
  for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(rank - 1 - i);
  if (const auto given = call.node.attribute_ints("perm")) perm = *given;
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted.size() != rank || sorted[i] != static_cast<int64_t>(i)) return kInvalid;
  const Strides own = strides_of(data->dims());
  Dims dims(rank);
  Strides strides(rank);
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = data->dims()[static_cast<size_t>(perm[i])];
    strides[i] = own[static_cast<size_t>(perm[i])];
  }
  if (!fits(call, data->dtype(), dims)) return Outcome::not_evaluated(kTooLarge);
  return Outcome::of(gather_strided(*data, dims, strides));
}

Outcome concat(const Call& call) {
  const Tensor* first = call.input(0);
  if (first == nullptr) return kInvalid;
  int64_t axis = call.node.attribute_int("axis", 1);
  if (!normalise(axis, first->rank())) return kInvalid;
  const auto at = static_cast<size_t>(axis);
  Dims dims = first->dims();
  dims[at] = 0;
  for (const Tensor* part : call.inputs) {
    if (part == nullptr || part->dtype() != first->dtype() || part->rank() != first->rank()) return kInvalid;
    for (size_t i = 0; i < dims.size(); ++i)
      if (i != at && part->dims()[i] != dims[i]) return kInvalid;
    dims[at] += part->dims()[at];
  }
  if (!fits(call, first->dtype(), dims)) return Outcome::not_evaluated(kTooLarge);
  std::span<std::byte> out;
  Tensor result = Tensor::make(first->dtype(), dims, &out);
  const size_t row = bytes_from(result, at), rows = rows_before(dims, at);
  size_t offset = 0;
  for (const Tensor* part : call.inputs) {
    const size_t bytes = bytes_from(*part, at);
    copy_part(out, row, offset, part->bytes(), bytes, 0, bytes, rows);
    offset += bytes;
  }
  return Outcome::of(std::move(result));
}

Outcome slice(const Call& call) {
  const Tensor* data = call.input(0);
  const auto starts = ints(call, "starts", 1), ends = ints(call, "ends", 2);
  if (data == nullptr || !starts || !ends || starts->size() != ends->size()) return kInvalid;
  std::vector<int64_t> axes(starts->size()), steps(starts->size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  if (const auto given = ints(call, "axes", 3)) axes = *given;
  if (const auto given = ints(call, "steps", 4)) steps = *given;
  if (axes.size() != starts->size() || steps.size() != starts->size()) return kInvalid;
  Dims dims = data->dims();
  Strides strides = strides_of(dims);
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!normalise(axes[i], data->rank()) || steps[i] == 0) return kInvalid;
    const auto axis = static_cast<size_t>(axes[i]);
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
        axes.begin() + static_cast<std::ptrdiff_t>(i))
      return kInvalid;
    const Span part = slice_span((*starts)[i], (*ends)[i], steps[i], dims[axis]);
    offset += part.start * strides[axis];
    dims[axis] = part.count;
    strides[axis] = part.count > 1 ? strides[axis] * part.step : 0;
  }
  return Outcome::of(gather_strided(*data, dims, strides, offset));
}

Outcome split(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr) return kInvalid;
  int64_t axis = call.node.attribute_int("axis", 0);
  if (!normalise(axis, data->rank())) return kInvalid;
  const auto at = static_cast<size_t>(axis);
  const auto parts = static_cast<int64_t>(call.node.outputs.size());
  std::optional<std::vector<int64_t>> sizes = ints(call, "split", 1);
  if (!sizes) {
    const int64_t size = (data->dims()[at] + parts - 1) / parts;
    sizes = std::vector<int64_t>(static_cast<size_t>(parts), size);
    sizes->back() = data->dims()[at] - size * (parts - 1);
  }
  int64_t sum = 0;
  for (const int64_t size : *sizes) {
    if (size < 0) return kInvalid;
    sum += size;
  }
  if (static_cast<int64_t>(sizes->size()) != parts || sum != data->dims()[at]) return kInvalid;
  Outcome outcome;
  const size_t row = bytes_from(*data, at), rows = rows_before(data->dims(), at);
  size_t offset = 0;
  for (const int64_t size : *sizes) {
    Dims dims = data->dims();
    dims[at] = size;
    std::span<std::byte> out;
    Tensor part = Tensor::make(data->dtype(), dims, &out);
    const size_t bytes = bytes_from(part, at);
    copy_part(out, bytes, 0, data->bytes(), row, offset, bytes, rows);
    offset += bytes;
    outcome.outputs.push_back(std::move(part));
  }
  return outcome;
}

Outcome expand(const Call& call) {
  const Tensor* data = call.input(0);
  const auto target = ints(call, "", 1);
  if (data == nullptr || !target) return kInvalid;
  const auto dims = broadcast(data->dims(), *target);
  if (!dims || std::any_of(dims->begin(), dims->end(), [](int64_t dim) { return dim < 0; })) return kInvalid;
  if (!fits(call, data->dtype(), *dims)) return Outcome::not_evaluated(kTooLarge);
  return Outcome::of(gather_strided(*data, *dims, broadcast_strides(data->dims(), *dims)));
}

Outcome tile(const Call& call) {
  const Tensor* data = call.input(0);
  const auto repeats = ints(call, "", 1);
  if (data == nullptr || !repeats || static_cast<int64_t>(repeats->size()) != data->rank()) return kInvalid;
  // Seen as [r0, d0, r1, d1, ...] with stride 0 on the repeats, tiling is a strided read.
  Dims dims, pairs;
  Strides strides;
  const Strides own = strides_of(data->dims());
  for (size_t i = 0; i < repeats->size(); ++i) {
    if ((*repeats)[i] < 0) return kInvalid;
    pairs.insert(pairs.end(), {(*repeats)[i], data->dims()[i]});
    strides.insert(strides.end(), {0, own[i]});
    int64_t dim = 0;
    if (__builtin_mul_overflow((*repeats)[i], data->dims()[i], &dim)) return kInvalid;
    dims.push_back(dim);
  }
  if (!fits(call, data->dtype(), dims)) return Outcome::not_evaluated(kTooLarge);
  return Outcome::of(gather_strided(*data, pairs, strides).reshaped(dims));
}

Outcome gather(const Call& call) {
  const Tensor* data = call.input(0);
  const auto indices = ints(call, "", 1);
  if (data == nullptr || !indices) return kInvalid;
  int64_t axis = call.node.attribute_int("axis", 0);
  if (!normalise(axis, data->rank())) return kInvalid;
  const auto at = static_cast<size_t>(axis);
  Dims dims(data->dims().begin(), data->dims().begin() + axis);
  dims.insert(dims.end(), call.input(1)->dims().begin(), call.input(1)->dims().end());
  dims.insert(dims.end(), data->dims().begin() + axis + 1, data->dims().end());
  if (!fits(call, data->dtype(), dims)) return Outcome::not_evaluated(kTooLarge);
  std::span<std::byte> out;
  Tensor result = Tensor::make(data->dtype(), dims, &out);
  const size_t element = bytes_from(*data, at + 1), row = bytes_from(*data, at), rows = rows_before(data->dims(), at);
  for (size_t k = 0; k < indices->size(); ++k) {
    int64_t index = (*indices)[k];
    if (!normalise(index, data->dims()[at])) return kInvalid;
    copy_part(out, element * indices->size(), element * k, data->bytes(), row, element * static_cast<size_t>(index),
              element, rows);
  }
  return Outcome::of(std::move(result));
}

Outcome where(const Call& call) {
  const Tensor *condition = call.input(0), *yes = call.input(1), *no = call.input(2);
  if (condition == nullptr || yes == nullptr || no == nullptr || yes->dtype() != no->dtype() ||
      condition->dtype() != model::DType::kBool)
    return kInvalid;
  const auto values = broadcast(yes->dims(), no->dims());
  const auto dims = values ? broadcast(*values, condition->dims()) : std::nullopt;
  if (!dims) return kInvalid;
  if (!fits(call, yes->dtype(), *dims)) return Outcome::not_evaluated(kTooLarge);
  std::span<std::byte> out;
  Tensor result = Tensor::make(yes->dtype(), *dims, &out);
  const auto size = static_cast<size_t>(model::dtype_bits(yes->dtype()) / 8);
  std::byte* to = out.data();
  walk<3>(*dims,
          {broadcast_strides(condition->dims(), *dims), broadcast_strides(yes->dims(), *dims),
           broadcast_strides(no->dims(), *dims)},
          {0, 0, 0}, [&](const std::array<int64_t, 3>& at) {
            const bool take_yes = condition->bytes()[static_cast<size_t>(at[0])] != std::byte{0};
            const Tensor& from = take_yes ? *yes : *no;
            std::memcpy(to, from.bytes().data() + static_cast<size_t>(take_yes ? at[1] : at[2]) * size, size);
            to += size;
          });
  return Outcome::of(std::move(result));
}

}  // namespace hone::change::fold
