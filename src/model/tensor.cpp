// Tensor: construction, names and sizes of element types, comparison. Number conversion is in tensor_numbers.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "model/tensor.h"

#include <algorithm>
#include <limits>
#include <new>

namespace hone::model {

namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int bits;
};

// numpy's words where numpy has one, ml_dtypes' for the rest.
constexpr DTypeRow kDTypes[] = {
    {DType::kFloat, "float32", 32},
    {DType::kUint8, "uint8", 8},
    {DType::kInt8, "int8", 8},
    {DType::kUint16, "uint16", 16},
    {DType::kInt16, "int16", 16},
    {DType::kInt32, "int32", 32},
    {DType::kInt64, "int64", 64},
    {DType::kString, "string", 0},
    {DType::kBool, "bool", 8},
    {DType::kFloat16, "float16", 16},
    {DType::kDouble, "float64", 64},
    {DType::kUint32, "uint32", 32},
    {DType::kUint64, "uint64", 64},
    {DType::kComplex64, "complex64", 64},
    {DType::kComplex128, "complex128", 128},
    {DType::kBfloat16, "bfloat16", 16},
    {DType::kFloat8E4M3FN, "float8_e4m3fn", 8},
    {DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 8},
    {DType::kFloat8E5M2, "float8_e5m2", 8},
    {DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 8},
    {DType::kUint4, "uint4", 4},
    {DType::kInt4, "int4", 4},
    {DType::kFloat4E2M1, "float4_e2m1", 4},
    {DType::kFloat8E8M0, "float8_e8m0", 8},
    {DType::kUint2, "uint2", 2},
    {DType::kInt2, "int2", 2},
    {DType::kFloat6E2M3, "float6_e2m3", 6},
    {DType::kFloat6E3M2, "float6_e3m2", 6},
};

const DTypeRow* find_row(DType dtype) {
  for (const auto& row : kDTypes)
    if (row.dtype == dtype) return &row;
  return nullptr;
}

// Cache-line aligned, so that kernels may load the buffer as vectors.
constexpr std::align_val_t kAlignment{64};

}  // namespace

std::string dtype_name(DType dtype) {
  const auto* row = find_row(dtype);
  return row != nullptr ? std::string(row->name) : "undefined";
}

DType dtype_from_name(std::string_view name) {
  for (const auto& row : kDTypes)
    if (row.name == name) return row.dtype;
  return DType::kUndefined;
}

int dtype_bits(DType dtype) {
  const auto* row = find_row(dtype);
  return row != nullptr ? row->bits : 0;
}

bool is_floating(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kFloat16:
    case DType::kDouble:
    case DType::kBfloat16:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0:
    case DType::kFloat4E2M1:
    case DType::kFloat6E2M3:
    case DType::kFloat6E3M2:
      return true;
    default:
      return false;
  }
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kUint16:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint32:
    case DType::kUint64:
    case DType::kUint4:
    case DType::kInt4:
    case DType::kUint2:
    case DType::kInt2:
      return true;
    default:
      return false;
  }
}

size_t packed_size(DType dtype, int64_t count) {
  const auto bits = static_cast<size_t>(dtype_bits(dtype));
  const auto n = static_cast<size_t>(count);
  if (bits % 8 == 0) return n * (bits / 8);
  return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

int64_t element_count(std::span<const int64_t> dims) {
  bool overflow = false;
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return -1;
    if (dim == 0) return std::ranges::any_of(dims, [](int64_t d) { return d < 0; }) ? -1 : 0;
    overflow = overflow || __builtin_mul_overflow(count, dim, &count);
  }
  // A count whose bytes can't be addressed (at most 16 bytes an element) is an overflow too.
  if (overflow || count > std::numeric_limits<int64_t>::max() / 16) return -1;
  return count;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner)
    : dtype_(dtype), dims_(std::move(dims)), count_(element_count(dims_)), bytes_(bytes), owner_(std::move(owner)) {
  HONE_CHECK(count_ >= 0);
  HONE_CHECK(dtype_bits(dtype_) > 0, "{}", dtype_name(dtype_));
  HONE_CHECK(bytes_.size() == packed_size(dtype_, count_), "{}", bytes_.size());
}

Tensor::Tensor(std::vector<int64_t> dims, std::vector<std::string> strings)
    : dtype_(DType::kString), dims_(std::move(dims)), count_(element_count(dims_)) {
  HONE_CHECK(count_ == static_cast<int64_t>(strings.size()), "{}", strings.size());
  strings_ = std::make_shared<const std::vector<std::string>>(std::move(strings));
}

Tensor Tensor::mapped(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
                      std::shared_ptr<const MappedFile> file) {
  Tensor tensor(dtype, std::move(dims), bytes, file);
  tensor.file_ = std::move(file);
  return tensor;
}

Tensor Tensor::make(DType dtype, std::vector<int64_t> dims, std::span<std::byte>* writable) {
  const int64_t count = element_count(dims);
  HONE_CHECK(count >= 0 && dtype_bits(dtype) > 0, "{}", dtype_name(dtype));
  const size_t size = packed_size(dtype, count);
  void* raw = ::operator new(std::max<size_t>(size, 1), kAlignment);
  std::memset(raw, 0, size);
  std::shared_ptr<void> owner(raw, [](void* p) { ::operator delete(p, kAlignment); });
  *writable = {static_cast<std::byte*>(raw), size};
  return Tensor(dtype, std::move(dims), *writable, std::move(owner));
}

const std::vector<std::string>& Tensor::strings() const {
  HONE_CHECK(strings_ != nullptr, "{}", dtype_name(dtype_));
  return *strings_;
}

Tensor Tensor::aligned() const {
  if (dtype_ == DType::kString || reinterpret_cast<uintptr_t>(bytes_.data()) % static_cast<size_t>(kAlignment) == 0)
    return *this;
  std::span<std::byte> out;
  Tensor copy = make(dtype_, dims_, &out);
  std::ranges::copy(bytes_, out.begin());
  return copy;
}

Tensor Tensor::reshaped(std::vector<int64_t> dims) const {
  HONE_CHECK(element_count(dims) == count_, "{}", count_);
  Tensor copy = *this;
  copy.dims_ = std::move(dims);
  return copy;
}

bool Tensor::operator==(const Tensor& other) const {
  if (dtype_ != other.dtype_ || dims_ != other.dims_) return false;
  if (dtype_ == DType::kString) return strings() == other.strings();
  return bytes_.size() == other.bytes_.size() &&
         (bytes_.data() == other.bytes_.data() || std::memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0);
}

const Tensor* find_tensor(const NamedTensors& tensors, std::string_view name) {
  for (const auto& [key, tensor] : tensors)
    if (key == name) return &tensor;
  return nullptr;
}

}  // namespace hone::model
