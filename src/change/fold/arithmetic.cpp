// Elementwise kernels: IEEE arithmetic, comparison, logic.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "change/fold/evaluate.h"
#include "change/fold/layout.h"
#include "change/fold/numbers.h"

namespace hone::change::fold {

using model::DType;
using model::Tensor;

namespace {

const Outcome kInvalid = Outcome::not_evaluated("its inputs do not fit together");

// Applies `compute(a, b) -> optional` to broadcast pairs; any nullopt makes the whole "not evaluated".
template <class In, class Out, class Compute>
Outcome binary(const Call& call, DType out_type, Compute compute) {
  const Tensor &a = *call.input(0), &b = *call.input(1);
  const auto dims = broadcast(a.dims(), b.dims());
  if (!dims) return kInvalid;
  if (!fits(call, out_type, *dims)) return Outcome::not_evaluated(kTooLarge);
  std::span<std::byte> out;
  Tensor result = Tensor::make(out_type, *dims, &out);
  std::byte* to = out.data();
  bool defined = true;
  walk<2>(*dims, {broadcast_strides(a.dims(), *dims), broadcast_strides(b.dims(), *dims)}, {0, 0},
          [&](const std::array<int64_t, 2>& at) {
            const auto value = compute(In::load(a.bytes().data() + static_cast<size_t>(at[0]) * In::kSize),
                                       In::load(b.bytes().data() + static_cast<size_t>(at[1]) * In::kSize));
            defined = defined && value.has_value();
            if (value) Out::store(to, *value);
            to += Out::kSize;
          });
  return defined ? Outcome::of(std::move(result)) : Outcome::not_evaluated("engines differ on what it gives");
}

bool two_of_a_type(const Call& call) {
  return call.inputs.size() == 2 && call.input(0) != nullptr && call.input(1) != nullptr &&
         call.input(0)->dtype() == call.input(1)->dtype();
}

// Integer arithmetic wraps, as the engines' does.
template <class T>
std::optional<T> integer_result(std::string_view op, T a, T b, bool c_modulo) {
  using U = std::make_unsigned_t<T>;
  // Computed in 64 bits: the product of two uint16 would overflow int.
  const auto wide_a = static_cast<uint64_t>(static_cast<U>(a)), wide_b = static_cast<uint64_t>(static_cast<U>(b));
  if (op == "Add") return static_cast<T>(static_cast<U>(wide_a + wide_b));
  if (op == "Sub") return static_cast<T>(static_cast<U>(wide_a - wide_b));
  if (op == "Mul") return static_cast<T>(static_cast<U>(wide_a * wide_b));
  if (b == 0) return std::nullopt;
  if constexpr (std::is_signed_v<T>)
    if (a == std::numeric_limits<T>::min() && b == -1) return std::nullopt;
  if (op == "Div") return static_cast<T>(a / b);
  const auto remainder = static_cast<T>(a % b);
  if constexpr (std::is_signed_v<T>)
    if (!c_modulo && remainder != 0 && (remainder < 0) != (b < 0)) return static_cast<T>(remainder + b);
  return remainder;
}

template <class T>
std::optional<T> real_result(std::string_view op, T a, T b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return a / b;
  return std::fmod(a, b);
}

}  // namespace

Outcome arithmetic(const Call& call) {
  if (!two_of_a_type(call)) return kInvalid;
  // Before opset 7 broadcasting had attributes of its own.
  if (call.opset < 7 && call.input(0)->dims() != call.input(1)->dims())
    return Outcome::not_evaluated("it broadcasts as opset 6 and older do");
  const std::string_view op = call.node.op_type;
  const bool c_modulo = call.node.attribute_int("fmod", 0) != 0;
  Outcome outcome;
  const DType dtype = call.input(0)->dtype();
  with_number(dtype, [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    if constexpr (std::is_floating_point_v<T>) {
      if (op == "Mod" && !c_modulo) return;
      outcome = binary<Type, Type>(call, dtype, [&](T a, T b) { return real_result(op, a, b); });
    } else {
      outcome = binary<Type, Type>(call, dtype, [&](T a, T b) { return integer_result(op, a, b, c_modulo); });
    }
  });
  return outcome;
}

// Squares and cubes are products and square roots are exact; any other exponent is rounded by each engine in its own
// way.
Outcome power(const Call& call) {
  const Tensor *base = call.input(0), *exponent = call.input(1);
  if (base == nullptr || exponent == nullptr || exponent->count() != 1 || exponent->rank() > base->rank()) return {};
  const Result<std::vector<double>> numbers = exponent->to_doubles();
  if (!numbers) return {};
  const double n = numbers->front();
  if (n != 1 && n != 2 && n != 3) return {};
  std::span<std::byte> out;
  if (!fits(call, base->dtype(), base->dims())) return Outcome::not_evaluated(kTooLarge);
  Tensor result = Tensor::make(base->dtype(), base->dims(), &out);
  const bool numeric = with_number(base->dtype(), [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    for (size_t i = 0; i < static_cast<size_t>(base->count()); ++i) {
      const T x = Type::load(base->bytes().data() + i * Type::kSize);
      T power = x;
      for (int k = 1; k < static_cast<int>(n); ++k) {
        if constexpr (std::is_floating_point_v<T>) {
          power = power * x;
        } else {
          power = *integer_result<T>("Mul", power, x, false);
        }
      }
      Type::store(out.data() + i * Type::kSize, power);
    }
  });
  return numeric ? Outcome::of(std::move(result)) : Outcome{};
}

Outcome extremum(const Call& call) {
  if (!two_of_a_type(call)) return {};
  const bool maximum = call.node.op_type == "Max";
  Outcome outcome;
  const DType dtype = call.input(0)->dtype();
  with_number(dtype, [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    outcome = binary<Type, Type>(call, dtype, [&](T a, T b) -> std::optional<T> {
      if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(a) || std::isnan(b) || (a == 0 && b == 0 && std::signbit(a) != std::signbit(b)))
          return std::nullopt;
      return maximum ? (a < b ? b : a) : (b < a ? b : a);
    });
  });
  return outcome;
}

Outcome compare(const Call& call) {
  if (!two_of_a_type(call) || call.opset < 7) return {};
  const std::string_view op = call.node.op_type;
  Outcome outcome;
  with_number_or_bool(call.input(0)->dtype(), [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    outcome = binary<Type, Bool>(call, DType::kBool, [&](T a, T b) -> std::optional<bool> {
      if (op == "Equal") return a == b;
      if (op == "Less") return a < b;
      if (op == "LessOrEqual") return a <= b;
      if (op == "Greater") return a > b;
      return a >= b;
    });
  });
  return outcome;
}

Outcome logical(const Call& call) {
  if (!two_of_a_type(call) || call.input(0)->dtype() != DType::kBool || call.opset < 7) return {};
  const std::string_view op = call.node.op_type;
  return binary<Bool, Bool>(call, DType::kBool, [&](bool a, bool b) -> std::optional<bool> {
    if (op == "And") return a && b;
    if (op == "Or") return a || b;
    return a != b;
  });
}

Outcome logical_not(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr || data->dtype() != DType::kBool) return kInvalid;
  std::span<std::byte> out;
  Tensor result = Tensor::make(DType::kBool, data->dims(), &out);
  for (size_t i = 0; i < out.size(); ++i) Bool::store(out.data() + i, !Bool::load(data->bytes().data() + i));
  return Outcome::of(std::move(result));
}

namespace {

template <class T>
std::optional<T> real_unary(std::string_view op, T x) {
  if (op == "Neg") return -x;
  if (op == "Abs") return std::fabs(x);
  if (op == "Sqrt") return std::sqrt(x);
  if (op == "Reciprocal") return T{1} / x;
  if (op == "Floor") return std::floor(x);
  if (op == "Ceil") return std::ceil(x);
  if (std::isnan(x)) return std::nullopt;
  if (op == "Sign") return x > 0 ? T{1} : x < 0 ? T{-1} : x;
  return x > 0 ? x : T{0};  // Relu
}

template <class T>
std::optional<T> integer_unary(std::string_view op, T x) {
  if (op == "Sign") return static_cast<T>(x > 0 ? 1 : x < 0 ? -1 : 0);
  if constexpr (std::is_signed_v<T>) {
    if (x == std::numeric_limits<T>::min()) return std::nullopt;
    if (op == "Neg") return static_cast<T>(-x);
  }
  if (op == "Abs") return x < 0 ? static_cast<T>(-x) : x;
  if (op == "Relu") return x > 0 ? x : T{0};
  return std::nullopt;
}

}  // namespace

Outcome unary(const Call& call) {
  const Tensor* data = call.input(0);
  if (data == nullptr) return kInvalid;
  const std::string_view op = call.node.op_type;
  if (!fits(call, data->dtype(), data->dims())) return Outcome::not_evaluated(kTooLarge);
  std::span<std::byte> out;
  Tensor result = Tensor::make(data->dtype(), data->dims(), &out);
  bool defined = true;
  const bool numeric = with_number(data->dtype(), [&](auto type) {
    using Type = decltype(type);
    using T = typename Type::Value;
    for (size_t i = 0; i < static_cast<size_t>(data->count()) && defined; ++i) {
      const T x = Type::load(data->bytes().data() + i * Type::kSize);
      std::optional<T> value;
      if constexpr (std::is_floating_point_v<T>) {
        value = real_unary(op, x);
      } else {
        value = integer_unary(op, x);
      }
      defined = value.has_value();
      if (value) Type::store(out.data() + i * Type::kSize, *value);
    }
  });
  if (!numeric) return {};
  return defined ? Outcome::of(std::move(result)) : Outcome::not_evaluated("engines differ on what it gives");
}

}  // namespace hone::change::fold
