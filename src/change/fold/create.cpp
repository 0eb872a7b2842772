// Kernels that make tensors from numbers, and Cast.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <type_traits>

#include "change/fold/evaluate.h"
#include "change/fold/layout.h"
#include "change/fold/numbers.h"

namespace hone::change::fold {

using model::DType;
using model::Tensor;

namespace {

const Outcome kInvalid = Outcome::not_evaluated("its inputs do not fit together");

}  // namespace

Outcome shape(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr) return kInvalid;
  const int64_t rank = data->rank();
  const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamped(call.node.attribute_int("start", 0)),
                end = clamped(call.node.attribute_int("end", rank));
  Dims dims;
  for (int64_t axis = start; axis < end; ++axis) dims.push_back(data->dims()[static_cast<size_t>(axis)]);
  return Outcome::of(Tensor::of<int64_t>({static_cast<int64_t>(dims.size())}, dims));
}

Outcome size(const Call& call) {
  return call.input(0) == nullptr ? kInvalid : Outcome::of(Tensor::scalar<int64_t>(call.input(0)->count()));
}

Outcome constant_of_shape(const Call& call) {
  const Tensor* target = call.input(0);
  if (target == nullptr || target->dtype() != DType::kInt64 || target->rank() != 1) return kInvalid;
  const Dims dims = target->values<int64_t>();
  Tensor fill = Tensor::of<float>({1}, {0.0F});
  if (const model::Attribute* value = call.node.attribute("value")) {
    if (!std::holds_alternative<Tensor>(*value) || std::get<Tensor>(*value).count() != 1) return kInvalid;
    fill = std::get<Tensor>(*value);
  }
  if (!has_whole_bytes(fill.dtype())) return {};
  if (!fits(call, fill.dtype(), dims)) return Outcome::not_evaluated(kTooLarge);
  return Outcome::of(gather_strided(fill, dims, Strides(dims.size(), 0)));
}

Outcome range(const Call& call) {
  const Tensor *start = call.input(0), *limit = call.input(1), *delta = call.input(2);
  if (start == nullptr || limit == nullptr || delta == nullptr || start->count() != 1 || limit->count() != 1 ||
      delta->count() != 1 || start->dtype() != limit->dtype() || start->dtype() != delta->dtype())
    return kInvalid;
  // Engines round start + i * delta in ways of their own.
  if (!model::is_integer(start->dtype())) return Outcome::not_evaluated("engines differ on what it gives");
  Outcome outcome;
  with_number(start->dtype(), [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    const T from = Type::load(start->bytes().data()), to = Type::load(limit->bytes().data()),
            step = Type::load(delta->bytes().data());
    const double steps = std::ceil((static_cast<double>(to) - static_cast<double>(from)) / static_cast<double>(step));
    if (step == 0 || !(steps < 9e15)) {
      outcome = kInvalid;
      return;
    }
    const Dims dims = {steps > 0 ? static_cast<int64_t>(steps) : 0};
    if (!fits(call, start->dtype(), dims)) {
      outcome = Outcome::not_evaluated(kTooLarge);
      return;
    }
    std::span<std::byte> out;
    Tensor result = Tensor::make(start->dtype(), dims, &out);
    for (int64_t i = 0; i < dims[0]; ++i)
      Type::store(out.data() + static_cast<size_t>(i) * Type::kSize,
                  static_cast<T>(from + static_cast<T>(static_cast<T>(i) * step)));
    outcome = Outcome::of(std::move(result));
  });
  return outcome;
}

Outcome non_zero(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr || data->rank() == 0) return {};
  std::vector<int64_t> found;  // flat indices
  const bool numeric = with_number_or_bool(data->dtype(), [&](auto type) {
    using Type = decltype(type);
    for (int64_t i = 0; i < data->count(); ++i)
      if (Type::load(data->bytes().data() + static_cast<size_t>(i) * Type::kSize) != typename Type::Value{})
        found.push_back(i);
  });
  const Dims dims = {data->rank(), static_cast<int64_t>(found.size())};
  if (!numeric) return {};
  if (!fits(call, DType::kInt64, dims)) return Outcome::not_evaluated(kTooLarge);
  const Strides strides = strides_of(data->dims());
  std::vector<int64_t> values;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    for (const int64_t flat : found) values.push_back(flat / strides[axis] % data->dims()[axis]);
  return Outcome::of(Tensor::of<int64_t>(dims, values));
}

Outcome trilu(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr || data->rank() < 2) return kInvalid;
  int64_t diagonal = 0;
  if (call.input(1) != nullptr) {
    const Result<std::vector<int64_t>> values = call.input(1)->to_int64s();
    if (!values || values->size() != 1) return kInvalid;
    diagonal = values->front();
  }
  const bool upper = call.node.attribute_int("upper", 1) != 0;
  const int64_t columns = data->dims().back(), rows = data->dims()[data->dims().size() - 2];
  if (!fits(call, data->dtype(), data->dims())) return Outcome::not_evaluated(kTooLarge);
  std::span<std::byte> out;
  Tensor result = Tensor::make(data->dtype(), data->dims(), &out);
  const auto element = static_cast<size_t>(model::dtype_bits(data->dtype()) / 8);
  for (int64_t i = 0; i < data->count(); ++i) {
    // column - row against the diagonal, compared so that no diagonal overflows
    const int64_t offset = i % columns - i / columns % rows;
    if (upper ? offset < diagonal : offset > diagonal) continue;
    std::memcpy(out.data() + static_cast<size_t>(i) * element, data->bytes().data() + static_cast<size_t>(i) * element,
                element);
  }
  return Outcome::of(std::move(result));
}

namespace {

// The value in the other type; nullopt where C++ and engines leave the result open.
template <class To, class From>
std::optional<To> converted(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const double whole = std::trunc(static_cast<double>(value));
    // Both bounds are exact in double: -2^n and 2^n.
    const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
    const double low = std::is_signed_v<To> ? -high : 0.0;
    if (!(whole >= low && whole < high)) return std::nullopt;
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

Outcome cast(const Call& call) {
  const Tensor* data = call.input(0);
  const auto to = static_cast<DType>(call.node.attribute_int("to", 0));
  if (data == nullptr) return kInvalid;
  if (!fits(call, to, data->dims())) return Outcome::not_evaluated(kTooLarge);
  Outcome outcome;
  with_number_or_bool(data->dtype(), [&](auto from_type) {
    with_number_or_bool(to, [&](auto to_type) {
      using From = decltype(from_type);
      using To = decltype(to_type);
      std::span<std::byte> out;
      Tensor result = Tensor::make(to, data->dims(), &out);
      bool defined = true;
      for (size_t i = 0; i < static_cast<size_t>(data->count()) && defined; ++i) {
        const auto value = converted<typename To::Value>(From::load(data->bytes().data() + i * From::kSize));
        defined = value.has_value();
        if (value) To::store(out.data() + i * To::kSize, *value);
      }
      outcome = defined ? Outcome::of(std::move(result))
                        : Outcome::not_evaluated("a value is out of the target type's range");
    });
  });
  return outcome;
}

}  // namespace hone::change::fold
