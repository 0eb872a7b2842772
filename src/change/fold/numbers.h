// Typed access for the kernels: dispatch over the numeric types, float16 and bfloat16 by way of float32.
//
// float16 arithmetic goes through float32, as ONNX Runtime's CPU provider does it (it has few float16 kernels and
// inserts Casts): for +, -, ·, / and sqrt rounding twice gives what rounding once gives (24 bits >= 2·11 + 2).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "model/tensor.h"

namespace hone::change::fold {

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);  // rounds to nearest even; overflow becomes infinity
float bfloat_to_float(uint16_t bits);
uint16_t float_to_bfloat(float value);

// One element type: how it is stored, and the C++ type it is computed in.
template <class Stored>
struct Plain {
  using Value = Stored;
  static Value load(const std::byte* at) {
    Stored stored;
    std::memcpy(&stored, at, sizeof stored);
    return stored;
  }
  static void store(std::byte* at, Value value) { std::memcpy(at, &value, sizeof value); }
  static constexpr size_t kSize = sizeof(Stored);
};
struct Bool {
  using Value = bool;
  static Value load(const std::byte* at) { return *at != std::byte{0}; }
  static void store(std::byte* at, Value value) { *at = std::byte{value}; }
  static constexpr size_t kSize = 1;
};
struct Half {
  using Value = float;
  static Value load(const std::byte* at) { return half_to_float(Plain<uint16_t>::load(at)); }
  static void store(std::byte* at, Value value) { Plain<uint16_t>::store(at, float_to_half(value)); }
  static constexpr size_t kSize = 2;
};
struct Bfloat {
  using Value = float;
  static Value load(const std::byte* at) { return bfloat_to_float(Plain<uint16_t>::load(at)); }
  static void store(std::byte* at, Value value) { Plain<uint16_t>::store(at, float_to_bfloat(value)); }
  static constexpr size_t kSize = 2;
};

// Calls visit with the element type of `dtype`; false when it is not a numeric type of whole bytes (float8 included).
template <class Visit>
bool with_number(model::DType dtype, Visit visit) {
  using model::DType;
  switch (dtype) {
    case DType::kFloat:
      return visit(Plain<float>{}), true;
    case DType::kDouble:
      return visit(Plain<double>{}), true;
    case DType::kFloat16:
      return visit(Half{}), true;
    case DType::kBfloat16:
      return visit(Bfloat{}), true;
    case DType::kInt8:
      return visit(Plain<int8_t>{}), true;
    case DType::kInt16:
      return visit(Plain<int16_t>{}), true;
    case DType::kInt32:
      return visit(Plain<int32_t>{}), true;
    case DType::kInt64:
      return visit(Plain<int64_t>{}), true;
    case DType::kUint8:
      return visit(Plain<uint8_t>{}), true;
    case DType::kUint16:
      return visit(Plain<uint16_t>{}), true;
    case DType::kUint32:
      return visit(Plain<uint32_t>{}), true;
    case DType::kUint64:
      return visit(Plain<uint64_t>{}), true;
    default:
      return false;
  }
}
// The same with bool.
template <class Visit>
bool with_number_or_bool(model::DType dtype, Visit visit) {
  if (dtype == model::DType::kBool) return visit(Bool{}), true;
  return with_number(dtype, visit);
}

}  // namespace hone::change::fold
