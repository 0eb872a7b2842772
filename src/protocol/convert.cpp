// SPDX-License-Identifier: Apache-2.0
#include "protocol/convert.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace hone::protocol {

using model::DType;
using model::Tensor;

namespace {

template <class T>
std::optional<Tensor> cast_integers(const std::vector<int64_t>& values, std::vector<int64_t> dims) {
  std::vector<T> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<T>(values[i]);
    if (static_cast<int64_t>(out[i]) != values[i] || (out[i] < T{0}) != (values[i] < 0)) return std::nullopt;
  }
  return Tensor::of<T>(std::move(dims), out);
}

std::optional<Tensor> cast_bools(const std::vector<int64_t>& values, std::vector<int64_t> dims) {
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(DType::kBool, std::move(dims), &out);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0 && values[i] != 1) return std::nullopt;
    out[i] = static_cast<std::byte>(values[i]);
  }
  return tensor;
}

// All values as int64 when each is a whole number in range.
std::optional<std::vector<int64_t>> whole_numbers(const std::vector<double>& values) {
  std::vector<int64_t> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= -0x1p63 && values[i] < 0x1p63) || values[i] != std::floor(values[i])) return std::nullopt;
    out[i] = static_cast<int64_t>(values[i]);
  }
  return out;
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::optional<Tensor> from_integers(const std::vector<int64_t>& values, std::vector<int64_t> dims, DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return cast_integers<int8_t>(values, std::move(dims));
    case DType::kUint8:
      return cast_integers<uint8_t>(values, std::move(dims));
    case DType::kInt16:
      return cast_integers<int16_t>(values, std::move(dims));
    case DType::kUint16:
      return cast_integers<uint16_t>(values, std::move(dims));
    case DType::kInt32:
      return cast_integers<int32_t>(values, std::move(dims));
    case DType::kUint32:
      return cast_integers<uint32_t>(values, std::move(dims));
    case DType::kInt64:
      return Tensor::of<int64_t>(std::move(dims), values);
    case DType::kUint64:
      return cast_integers<uint64_t>(values, std::move(dims));
    case DType::kBool:
      return cast_bools(values, std::move(dims));
    default:
      return from_numbers(std::vector<double>(values.begin(), values.end()), std::move(dims), dtype);
  }
}

std::optional<Tensor> from_numbers(const std::vector<double>& values, std::vector<int64_t> dims, DType dtype) {
  if (model::is_floating(dtype)) {
    auto tensor = Tensor::from_doubles(dtype, std::move(dims), values);
    return tensor ? std::optional(std::move(*tensor)) : std::nullopt;
  }
  if (dtype != DType::kBool && !model::is_integer(dtype)) return std::nullopt;
  if (model::dtype_bits(dtype) < 8) return std::nullopt;
  const auto whole = whole_numbers(values);
  return whole ? from_integers(*whole, std::move(dims), dtype) : std::nullopt;
}

std::optional<Tensor> convert_lossless(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  if (tensor.dtype() == DType::kString || dtype == DType::kString) return std::nullopt;
  const bool integers = model::is_integer(tensor.dtype()) || tensor.dtype() == DType::kBool;
  if (integers && !model::is_floating(dtype)) {
    const auto values = tensor.to_int64s();
    return values ? from_integers(*values, tensor.dims(), dtype) : std::nullopt;
  }
  if (integers && tensor.dtype() != DType::kUint64) {  // whole numbers past 2^53 would be rounded before the comparison
    const auto values = tensor.to_int64s();
    if (!values) return std::nullopt;
    for (const int64_t value : *values)
      if (value > (1LL << 53) || value < -(1LL << 53)) return std::nullopt;
  }
  const auto values = tensor.to_doubles();
  if (!values) return std::nullopt;
  auto converted = from_numbers(*values, tensor.dims(), dtype);
  if (!converted) return std::nullopt;
  const auto back = converted->to_doubles();
  if (!back) return std::nullopt;
  for (size_t i = 0; i < back->size(); ++i)
    if (!same_number((*values)[i], (*back)[i])) return std::nullopt;
  return converted;
}

}  // namespace hone::protocol
