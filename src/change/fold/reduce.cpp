// Reductions whose result does not depend on the order: integers, and minima and maxima of anything.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "change/fold/evaluate.h"
#include "change/fold/layout.h"
#include "change/fold/numbers.h"

namespace hone::change::fold {

using model::Tensor;

namespace {

const Outcome kInvalid = Outcome::not_evaluated("its inputs do not fit together");

template <class T>
T combined(std::string_view op, T a, T b) {
  if (op == "ReduceMax") return a < b ? b : a;
  if (op == "ReduceMin") return b < a ? b : a;
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);  // wraps
  return static_cast<T>(op == "ReduceSum" ? x + y : x * y);
}

// Which axes go: attribute, input 1, or all. nullopt: not evaluated.
std::optional<std::vector<bool>> reduced_axes(const Call& call, int64_t rank) {
  std::optional<std::vector<int64_t>> axes = call.node.attribute_ints("axes");
  if (!axes && call.input(1) != nullptr) {
    Result<std::vector<int64_t>> values = call.input(1)->to_int64s();
    if (!values) return std::nullopt;
    axes = std::move(*values);
  }
  if (!axes || axes->empty()) {
    if (call.node.attribute_int("noop_with_empty_axes", 0) != 0) return std::nullopt;
    return std::vector<bool>(static_cast<size_t>(rank), true);
  }
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  for (int64_t axis : *axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
    reduced[static_cast<size_t>(axis)] = true;
  }
  return reduced;
}

}  // namespace

Outcome reduce(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr || data->count() == 0) return {};
  const auto reduced = reduced_axes(call, data->rank());
  if (!reduced) return {};
  const bool keep = call.node.attribute_int("keepdims", 1) != 0;
  const std::string_view op = call.node.op_type;
  Dims kept = data->dims(), dims;
  for (size_t axis = 0; axis < kept.size(); ++axis) {
    if ((*reduced)[axis]) kept[axis] = 1;
    if (keep || !(*reduced)[axis]) dims.push_back(kept[axis]);
  }
  Outcome outcome;
  with_number(data->dtype(), [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    if constexpr (std::is_floating_point_v<T>) {
      if (op != "ReduceMax" && op != "ReduceMin") return;
    }
    std::span<std::byte> out;
    Tensor result = Tensor::make(data->dtype(), dims, &out);
    std::vector<bool> begun(static_cast<size_t>(result.count()), false);
    bool defined = true;
    const std::byte* from = data->bytes().data();
    walk<1>(data->dims(), {broadcast_strides(kept, data->dims())}, {0}, [&](const std::array<int64_t, 1>& at) {
      const auto slot = static_cast<size_t>(at[0]);
      const T value = Type::load(from);
      from += Type::kSize;
      if constexpr (std::is_floating_point_v<T>) defined = defined && !std::isnan(value);
      if constexpr (std::is_floating_point_v<T>) {
        const T so_far = begun[slot] ? Type::load(out.data() + slot * Type::kSize) : value;
        // +0 and -0: which one is the maximum depends on the order
        defined = defined && !(value == 0 && so_far == 0 && std::signbit(value) != std::signbit(so_far));
        Type::store(out.data() + slot * Type::kSize,
                    op == "ReduceMax" ? std::max(so_far, value) : std::min(so_far, value));
      } else {
        const T so_far = begun[slot] ? combined(op, Type::load(out.data() + slot * Type::kSize), value) : value;
        Type::store(out.data() + slot * Type::kSize, so_far);
      }
      begun[slot] = true;
    });
    if (defined) outcome = Outcome::of(std::move(result));
  });
  return outcome;
}

// Attention masks are counted with it: positions = CumSum(mask).
Outcome cumulative_sum(const Call& call) {
  const Tensor *data = call.input(0), *axis_tensor = call.input(1);
  if (data == nullptr || axis_tensor == nullptr || axis_tensor->count() != 1) return kInvalid;
  if (call.node.attribute_int("exclusive", 0) != 0 || call.node.attribute_int("reverse", 0) != 0) return {};
  const Result<std::vector<int64_t>> axis_values = axis_tensor->to_int64s();
  if (!axis_values) return kInvalid;
  int64_t axis = axis_values->front();
  if (axis < 0) axis += data->rank();
  if (axis < 0 || axis >= data->rank()) return kInvalid;
  const auto stride = static_cast<size_t>(strides_of(data->dims())[static_cast<size_t>(axis)]);
  const auto dim = static_cast<size_t>(data->dims()[static_cast<size_t>(axis)]);
  Outcome outcome;
  with_number(data->dtype(), [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    if constexpr (std::is_integral_v<T>) {
      std::span<std::byte> out;
      Tensor result = Tensor::make(data->dtype(), data->dims(), &out);
      for (size_t i = 0; i < static_cast<size_t>(data->count()); ++i) {
        T value = Type::load(data->bytes().data() + i * Type::kSize);
        if (i / stride % dim != 0)
          value = combined<T>("ReduceSum", Type::load(out.data() + (i - stride) * Type::kSize), value);
        Type::store(out.data() + i * Type::kSize, value);
      }
      outcome = Outcome::of(std::move(result));
    }
  });
  return outcome;
}

}  // namespace hone::change::fold
