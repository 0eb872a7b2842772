// Numbers: a tensor of any numeric dtype read in blocks of doubles, so that comparing two outputs of 100 MB needs no
// further 400 MB of memory and stays in the cache.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/tensor.h"

namespace hone::accuracy {

class Numbers {
 public:
  // Unsupported for strings and complex numbers. Keeps the tensor's bytes alive.
  static Result<Numbers> of(const model::Tensor& tensor);
  int64_t count() const { return tensor_.count(); }
  // Elements begin .. begin + out.size(), which must exist.
  void read(int64_t begin, std::span<double> out) const { reader_(*this, begin, out); }

 private:
  using Reader = void (*)(const Numbers&, int64_t, std::span<double>);
  template <class T>
  static void read_plain(const Numbers& self, int64_t begin, std::span<double> out);
  static void read_float16(const Numbers& self, int64_t begin, std::span<double> out);
  static void read_bfloat16(const Numbers& self, int64_t begin, std::span<double> out);
  static void read_converted(const Numbers& self, int64_t begin, std::span<double> out);
  static Reader reader_for(model::DType dtype);

  model::Tensor tensor_;
  std::vector<double> converted_;  // of rare dtypes (8 bits and less) that are converted at once
  Reader reader_ = nullptr;
};

}  // namespace hone::accuracy
