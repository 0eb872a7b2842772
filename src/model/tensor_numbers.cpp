// Tensor elements as double or int64 and back: every numeric ONNX type incl. half, bfloat16, the small floats and the
// packed integers. Written for constants and checks, not for heavy arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include "model/tensor.h"

namespace hone::model {

namespace {

// A binary float of sign, exponent and mantissa bits. Which codes are special differs by type.
enum class Special { kIeee, kNanAllOnes, kUnsignedZero, kNone };
struct MiniFloat {
  int exponent_bits, mantissa_bits, bias;
  Special special;
};

// Sources: IEEE 754 (half), the bfloat16 and OCP FP8/MX specifications, ONNX "Float stored in 8 bits".
const MiniFloat* mini_float(DType dtype) {
  static constexpr MiniFloat kHalf{5, 10, 15, Special::kIeee}, kBfloat{8, 7, 127, Special::kIeee},
      kE4M3FN{4, 3, 7, Special::kNanAllOnes}, kE4M3FNUZ{4, 3, 8, Special::kUnsignedZero},
      kE5M2{5, 2, 15, Special::kIeee}, kE5M2FNUZ{5, 2, 16, Special::kUnsignedZero}, kE2M1{2, 1, 1, Special::kNone},
      kE2M3{2, 3, 1, Special::kNone}, kE3M2{3, 2, 3, Special::kNone};
  switch (dtype) {
    case DType::kFloat16:
      return &kHalf;
    case DType::kBfloat16:
      return &kBfloat;
    case DType::kFloat8E4M3FN:
      return &kE4M3FN;
    case DType::kFloat8E4M3FNUZ:
      return &kE4M3FNUZ;
    case DType::kFloat8E5M2:
      return &kE5M2;
    case DType::kFloat8E5M2FNUZ:
      return &kE5M2FNUZ;
    case DType::kFloat4E2M1:
      return &kE2M1;
    case DType::kFloat6E2M3:
      return &kE2M3;
    case DType::kFloat6E3M2:
      return &kE3M2;
    default:
      return nullptr;
  }
}

double decode(uint32_t code, const MiniFloat& f) {
  const uint32_t mantissa_mask = (1U << f.mantissa_bits) - 1, exponent_mask = (1U << f.exponent_bits) - 1;
  const uint32_t mantissa = code & mantissa_mask, exponent = (code >> f.mantissa_bits) & exponent_mask;
  const bool negative = ((code >> (f.mantissa_bits + f.exponent_bits)) & 1) != 0;
  const double sign = negative ? -1.0 : 1.0;
  if (f.special == Special::kIeee && exponent == exponent_mask)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (f.special == Special::kNanAllOnes && exponent == exponent_mask && mantissa == mantissa_mask)
    return std::numeric_limits<double>::quiet_NaN();
  if (f.special == Special::kUnsignedZero && negative && exponent == 0 && mantissa == 0)
    return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp(mantissa + (1U << f.mantissa_bits), static_cast<int>(exponent) - f.bias - f.mantissa_bits);
}

// Rounds to the nearest half or bfloat16, ties to even. Both steps (double to float to 16 bits) would round twice, so
// the mantissa is cut from the double itself.
uint16_t encode_ieee(double value, const MiniFloat& f) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>(((1 << f.exponent_bits) - 1) << f.mantissa_bits);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | (1 << (f.mantissa_bits - 1)));
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : 1 - f.bias;
  exponent = std::max(exponent, 1 - f.bias);
  // nearbyint rounds ties to even in the default rounding mode; a mantissa that overflows carries into the exponent.
  const auto steps = static_cast<int64_t>(std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent)));
  const int64_t code = (static_cast<int64_t>(exponent + f.bias - 1) << f.mantissa_bits) + steps;
  return static_cast<uint16_t>(sign | std::min<int64_t>(code, infinity));
}

uint32_t bits_at(std::span<const std::byte> bytes, size_t index, int bits) {
  if (bits == 16) {
    uint16_t code;
    std::memcpy(&code, bytes.data() + index * 2, 2);
    return code;
  }
  const size_t bit = index * static_cast<size_t>(bits);
  uint32_t code = std::to_integer<uint32_t>(bytes[bit / 8]) >> (bit % 8);
  if (bit % 8 + static_cast<size_t>(bits) > 8) code |= std::to_integer<uint32_t>(bytes[bit / 8 + 1]) << (8 - bit % 8);
  return code & ((1U << bits) - 1);
}

int64_t signed_of(uint32_t code, int bits) {
  return (code >> (bits - 1)) != 0 ? static_cast<int64_t>(code) - (int64_t{1} << bits) : static_cast<int64_t>(code);
}

template <class To, class From>
void convert_all(const Tensor& tensor, std::vector<To>& out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<To>(tensor.at<From>(static_cast<int64_t>(i)));
}

// Fills `out` from the dtypes C++ has; false for the others.
template <class To>
bool convert_native(const Tensor& tensor, std::vector<To>& out) {
  switch (tensor.dtype()) {
    case DType::kUint8:
      return convert_all<To, uint8_t>(tensor, out), true;
    case DType::kInt8:
      return convert_all<To, int8_t>(tensor, out), true;
    case DType::kUint16:
      return convert_all<To, uint16_t>(tensor, out), true;
    case DType::kInt16:
      return convert_all<To, int16_t>(tensor, out), true;
    case DType::kUint32:
      return convert_all<To, uint32_t>(tensor, out), true;
    case DType::kInt32:
      return convert_all<To, int32_t>(tensor, out), true;
    case DType::kUint64:
      return convert_all<To, uint64_t>(tensor, out), true;
    case DType::kInt64:
      return convert_all<To, int64_t>(tensor, out), true;
    case DType::kBool:
    case DType::kUint4:
    case DType::kUint2: {
      const int bits = dtype_bits(tensor.dtype());
      for (size_t i = 0; i < out.size(); ++i) {
        const uint32_t code = bits_at(tensor.bytes(), i, bits);
        out[i] = static_cast<To>(tensor.dtype() == DType::kBool ? (code != 0 ? 1 : 0) : code);
      }
      return true;
    }
    case DType::kInt4:
    case DType::kInt2: {
      const int bits = dtype_bits(tensor.dtype());
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<To>(signed_of(bits_at(tensor.bytes(), i, bits), bits));
      return true;
    }
    default:
      return false;
  }
}

template <class T>
void store_all(std::span<const double> values, std::span<std::byte> out) {
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(values[i]);
    } else {
      // Casting a double out of range is undefined; a constant that does not fit saturates.
      const double low = static_cast<double>(std::numeric_limits<T>::min());
      const double high = static_cast<double>(std::numeric_limits<T>::max());
      value = std::isnan(values[i]) ? T{0}
              : values[i] <= low    ? std::numeric_limits<T>::min()
              : values[i] >= high   ? std::numeric_limits<T>::max()
                                    : static_cast<T>(values[i]);
    }
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

Result<std::vector<double>> Tensor::to_doubles() const {
  std::vector<double> out(static_cast<size_t>(count_));
  if (convert_native(*this, out)) return out;
  if (dtype_ == DType::kFloat) return convert_all<double, float>(*this, out), out;
  if (dtype_ == DType::kDouble) return convert_all<double, double>(*this, out), out;
  const int bits = dtype_bits(dtype_);
  if (dtype_ == DType::kFloat8E8M0) {
    for (size_t i = 0; i < out.size(); ++i) {
      const uint32_t code = bits_at(bytes_, i, bits);
      out[i] = code == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(code) - 127);
    }
    return out;
  }
  const MiniFloat* format = mini_float(dtype_);
  if (format == nullptr) return fail(unsupported("can't read elements as numbers: " + dtype_name(dtype_)));
  for (size_t i = 0; i < out.size(); ++i) out[i] = decode(bits_at(bytes_, i, bits), *format);
  return out;
}

Result<std::vector<int64_t>> Tensor::to_int64s() const {
  std::vector<int64_t> out(static_cast<size_t>(count_));
  if (convert_native(*this, out)) return out;
  return fail(unsupported("can't read elements as integers: " + dtype_name(dtype_)));
}

Result<Tensor> Tensor::from_doubles(DType dtype, std::vector<int64_t> dims, std::span<const double> values) {
  HONE_CHECK(element_count(dims) == static_cast<int64_t>(values.size()), "{}", values.size());
  if (dtype_bits(dtype) < 8) return fail(unsupported("can't make a tensor from numbers: " + dtype_name(dtype)));
  std::span<std::byte> out;
  Tensor tensor = make(dtype, std::move(dims), &out);
  switch (dtype) {
    case DType::kFloat:
      return store_all<float>(values, out), tensor;
    case DType::kDouble:
      return store_all<double>(values, out), tensor;
    case DType::kUint8:
      return store_all<uint8_t>(values, out), tensor;
    case DType::kInt8:
      return store_all<int8_t>(values, out), tensor;
    case DType::kUint16:
      return store_all<uint16_t>(values, out), tensor;
    case DType::kInt16:
      return store_all<int16_t>(values, out), tensor;
    case DType::kUint32:
      return store_all<uint32_t>(values, out), tensor;
    case DType::kInt32:
      return store_all<int32_t>(values, out), tensor;
    case DType::kUint64:
      return store_all<uint64_t>(values, out), tensor;
    case DType::kInt64:
      return store_all<int64_t>(values, out), tensor;
    case DType::kBool:
      for (size_t i = 0; i < values.size(); ++i) out[i] = std::byte{values[i] != 0 ? uint8_t{1} : uint8_t{0}};
      return tensor;
    case DType::kFloat16:
    case DType::kBfloat16:
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t code = encode_ieee(values[i], *mini_float(dtype));
        std::memcpy(out.data() + i * 2, &code, 2);
      }
      return tensor;
    default:
      return fail(unsupported("can't make a tensor from numbers: " + dtype_name(dtype)));
  }
}

}  // namespace hone::model
