// Tensor: an immutable typed array: a weight, a constant, an input or an output of a Model.
//
// Bytes are shared and never copied by copying a Tensor; they may lie in a memory-mapped model file, so they may be
// unaligned: read elements with values<T>() (copies) or at<T>(), or take aligned() first for heavy work.
// Layout: row-major, little endian, ONNX TensorProto.raw_data packing (4-bit types: two per byte, low nibble first).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "base/result.h"

namespace hone::model {

// Numbers are those of onnx.TensorProto.DataType.
enum class DType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

// "float32", "int64", "bfloat16", ... (numpy's words); "undefined" for an unknown number.
std::string dtype_name(DType dtype);
// The inverse; kUndefined when the word is not known.
DType dtype_from_name(std::string_view name);
// Bits of one element; 0 for strings and kUndefined.
int dtype_bits(DType dtype);
bool is_floating(DType dtype);
bool is_integer(DType dtype);

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kDouble;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::kInt8;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::kUint8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::kInt16;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::kUint16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::kUint32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::kUint64;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::kBool;
}

class Tensor {
 public:
  Tensor() = default;
  // Takes bytes in raw_data layout; `owner` keeps them alive. HONE_CHECKs that the size fits dtype and dims.
  Tensor(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  // A tensor of strings.
  Tensor(std::vector<int64_t> dims, std::vector<std::string> strings);
  // Bytes that lie in a mapped file: saving copies them from file to file without reading them into memory.
  static Tensor mapped(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
                       std::shared_ptr<const MappedFile> file);
  // Copies values into an own, aligned buffer.
  template <class T>
  static Tensor of(std::vector<int64_t> dims, const std::vector<T>& values);
  // A rank-0 tensor.
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, std::vector<T>{value});
  }
  // Converts values to a floating or integer dtype, rounding to nearest even (floats) or truncating (integers);
  // unsupported for complex, strings and types below 8 bits.
  static Result<Tensor> from_doubles(DType dtype, std::vector<int64_t> dims, std::span<const double> values);
  // An own buffer (64-byte aligned, zeroed); the caller fills `writable` before sharing the tensor.
  static Tensor make(DType dtype, std::vector<int64_t> dims, std::span<std::byte>* writable);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  // Number of elements; 1 for rank 0, 0 when a dimension is 0.
  int64_t count() const { return count_; }
  size_t byte_size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  // The file bytes() lie in, or nullptr when they're in memory.
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  const std::vector<std::string>& strings() const;

  template <class T>
  T at(int64_t index) const {
    HONE_CHECK(dtype_ == dtype_of<T>() && index >= 0 && index < count_);
    T value;
    std::memcpy(&value, bytes_.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
    return value;
  }
  // Copies all elements out; HONE_CHECKs the dtype.
  template <class T>
  std::vector<T> values() const;
  // All elements as double, from any numeric dtype incl. bool, float16, bfloat16, float8, int4 (complex: unsupported).
  Result<std::vector<double>> to_doubles() const;
  // All elements as int64 from any integer or bool dtype.
  Result<std::vector<int64_t>> to_int64s() const;
  // The same tensor with bytes at a 64-byte boundary (a copy only when needed).
  Tensor aligned() const;
  // The same bytes under other dims (same count).
  Tensor reshaped(std::vector<int64_t> dims) const;
  bool operator==(const Tensor& other) const;  // dtype, dims and bytes (NaN equals itself)

 private:
  DType dtype_ = DType::kUndefined;
  std::vector<int64_t> dims_;
  int64_t count_ = 0;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

// Bytes that `count` elements of a dtype take in raw_data layout.
size_t packed_size(DType dtype, int64_t count);
// Product of dims; nullopt-like -1 on overflow or a negative dim.
int64_t element_count(std::span<const int64_t> dims);

using NamedTensor = std::pair<std::string, Tensor>;
// One Sample: an input tensor per graph input, or one inference's outputs in output order.
using NamedTensors = std::vector<NamedTensor>;
const Tensor* find_tensor(const NamedTensors& tensors, std::string_view name);

template <class T>
Tensor Tensor::of(std::vector<int64_t> dims, const std::vector<T>& values) {
  std::span<std::byte> out;
  Tensor tensor = make(dtype_of<T>(), std::move(dims), &out);
  HONE_CHECK(tensor.count() == static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = values[i];
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
  return tensor;
}

template <class T>
std::vector<T> Tensor::values() const {
  HONE_CHECK(dtype_ == dtype_of<T>());
  std::vector<T> out(static_cast<size_t>(count_));
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
    out[i] = value;
  }
  return out;
}

}  // namespace hone::model
