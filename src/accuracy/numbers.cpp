// SPDX-License-Identifier: Apache-2.0
#include "accuracy/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace hone::accuracy {

using model::DType;

namespace {

float float16_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  float value = 0;
  if (exponent == 31)
    value = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  else
    value = std::ldexp(static_cast<float>(exponent == 0 ? mantissa : mantissa + 1024), std::max(exponent, 1) - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

// All 65,536 values: a look-up is several times faster than taking each number apart.
const std::array<float, 65536>& float16_values() {
  static const auto kValues = [] {
    std::array<float, 65536> values{};
    for (size_t i = 0; i < values.size(); ++i) values[i] = float16_value(static_cast<uint16_t>(i));
    return values;
  }();
  return kValues;
}

}  // namespace

template <class T>
void Numbers::read_plain(const Numbers& self, int64_t begin, std::span<double> out) {
  const std::byte* from = self.tensor_.bytes().data() + static_cast<size_t>(begin) * sizeof(T);
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
}

void Numbers::read_float16(const Numbers& self, int64_t begin, std::span<double> out) {
  const auto& values = float16_values();
  const std::byte* from = self.tensor_.bytes().data() + static_cast<size_t>(begin) * 2;
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, from + i * 2, 2);
    out[i] = values[bits];
  }
}

void Numbers::read_bfloat16(const Numbers& self, int64_t begin, std::span<double> out) {
  const std::byte* from = self.tensor_.bytes().data() + static_cast<size_t>(begin) * 2;
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, from + i * 2, 2);
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    out[i] = value;
  }
}

void Numbers::read_converted(const Numbers& self, int64_t begin, std::span<double> out) {
  std::copy_n(self.converted_.begin() + begin, out.size(), out.begin());
}

Numbers::Reader Numbers::reader_for(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return read_plain<float>;
    case DType::kDouble:
      return read_plain<double>;
    case DType::kFloat16:
      return read_float16;
    case DType::kBfloat16:
      return read_bfloat16;
    case DType::kInt8:
      return read_plain<int8_t>;
    case DType::kUint8:
    case DType::kBool:
      return read_plain<uint8_t>;
    case DType::kInt16:
      return read_plain<int16_t>;
    case DType::kUint16:
      return read_plain<uint16_t>;
    case DType::kInt32:
      return read_plain<int32_t>;
    case DType::kUint32:
      return read_plain<uint32_t>;
    case DType::kInt64:
      return read_plain<int64_t>;
    case DType::kUint64:
      return read_plain<uint64_t>;
    default:
      return read_converted;
  }
}

Result<Numbers> Numbers::of(const model::Tensor& tensor) {
  Numbers numbers;
  numbers.tensor_ = tensor;
  numbers.reader_ = reader_for(tensor.dtype());
  if (numbers.reader_ == read_converted) numbers.converted_ = HONE_TRY(tensor.to_doubles());
  return numbers;
}

}  // namespace hone::accuracy
