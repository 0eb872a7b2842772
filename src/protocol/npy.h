// npy: numpy's array format (NEP 1): one array = a Python-literal header and the elements.
//
// The bytes are untrusted: the header's length, dims and dtype are held against the size of the file before anything
// is allocated; object arrays (pickle: they run code when read) are refused. No zip in here: see npz.cpp.
// dtypes that numpy has no word for (bfloat16, float8, 4-bit integers) travel as unsigned integers of the same width
// with a suffix on the array's *name*: "x@bfloat16"; 4- and 2-bit elements take one byte each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tensor.h"

namespace hone::protocol {

struct NpyHeader {
  char kind = 0;  // numpy's: b i u f c S U V
  uint64_t item_size = 0;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".
Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& where);

// Fills the span, or fails.
using ReadBytes = std::function<Status(std::span<std::byte>)>;

// Reads one array of `size` bytes in all.
Result<model::Tensor> decode_npy(const ReadBytes& read, uint64_t size, const std::string& where);

struct EncodedNpy {
  std::string suffix;  // to append to the name: "" or "@bfloat16"
  std::string header;
  model::Tensor body;  // what follows the header, byte for byte
};
Result<EncodedNpy> encode_npy(const model::Tensor& tensor, const std::string& where);

// Undoes the suffix: ("x@bfloat16", uint16 bits) becomes ("x", bfloat16). Other names are left as they are.
model::NamedTensor undo_suffix(std::string name, model::Tensor tensor);

}  // namespace hone::protocol
