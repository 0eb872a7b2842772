// SPDX-License-Identifier: Apache-2.0
#include "protocol/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "protocol/npy.h"

namespace hone::protocol {

using model::NamedTensors;
using model::Tensor;

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The run of digits at `i` without leading zeros; moves `i` past it.
std::string_view take_number(std::string_view text, size_t& i) {
  size_t begin = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  while (begin + 1 < i && text[begin] == '0') ++begin;
  return text.substr(begin, i - begin);
}

// "a2" before "a10".
bool natural_less(const std::string& a, const std::string& b) {
  size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (is_digit(a[i]) && is_digit(b[k])) {
      const std::string_view left = take_number(a, i), right = take_number(b, k);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a[i] != b[k]) return a[i] < b[k];
      ++i, ++k;
    }
  }
  if (a.size() - i != b.size() - k) return a.size() - i < b.size() - k;
  return a < b;
}

template <class Keep>
Result<std::vector<fs::path>> entries_of(const fs::path& folder, Keep keep) {
  std::vector<fs::path> out;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    if (keep(*it)) out.push_back(it->path());
  if (code) return fail(bad_input("can't read folder (" + code.message() + ")", folder.string()));
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  return out;
}

// Row `index` of the leading axis; shares the bytes.
Tensor row_of(const Tensor& tensor, int64_t index) {
  std::vector<int64_t> dims(tensor.dims().begin() + 1, tensor.dims().end());
  const int64_t count = model::element_count(dims);
  if (tensor.dtype() == model::DType::kString) {
    const auto first = tensor.strings().begin() + index * count;
    return Tensor(std::move(dims), std::vector<std::string>(first, first + count));
  }
  auto owner = std::make_shared<const Tensor>(tensor);
  const size_t size = model::packed_size(tensor.dtype(), count);
  return Tensor(tensor.dtype(), std::move(dims), owner->bytes().subspan(static_cast<size_t>(index) * size, size),
                owner);
}

// How many samples the arrays hold along a leading axis; nullopt when they are one sample as they are.
Result<std::optional<int64_t>> leading_axis(const NamedTensors& arrays, const std::vector<InputInfo>& inputs,
                                            const std::string& where) {
  std::optional<int64_t> rows;
  std::string plain, stacked;  // names of one input of each kind
  for (const auto& input : inputs) {
    const Tensor* array = find_tensor(arrays, input.name);
    if (array == nullptr || !input.type.shape) continue;
    if (array->rank() != input.type.rank() + 1) {
      plain = input.name;
      continue;
    }
    if (rows && *rows != array->dims()[0])
      return fail(bad_input(
          fmt::format("input '{}' has {} samples and input '{}' has {}", stacked, *rows, input.name, array->dims()[0]),
          where, "give every input the same number of samples"));
    rows = array->dims()[0];
    stacked = input.name;
  }
  if (rows && !plain.empty())
    return fail(bad_input(fmt::format("input '{}' has a leading sample axis and input '{}' has none", stacked, plain),
                          where, "give all inputs one more axis, or none"));
  return rows;
}

Result<RawData> split_samples(NamedTensors arrays, const fs::path& file, const std::vector<InputInfo>& inputs,
                              size_t limit, const std::string& kind) {
  RawData data;
  const auto rows = HONE_TRY(leading_axis(arrays, inputs, file.string()));
  data.kind = rows ? fmt::format("{} samples in one {}", *rows, kind) : "one " + kind;
  if (!rows) {
    data.samples.push_back({file.string(), std::move(arrays)});
    return data;
  }
  for (int64_t row = 0; row < *rows; ++row) {
    if (limit != 0 && data.samples.size() == limit) break;
    RawSample sample{fmt::format("{}: sample {}", file.string(), row), {}};
    for (const auto& [name, tensor] : arrays) {
      const bool splits = tensor.rank() > 0 && tensor.dims()[0] == *rows && model::dtype_bits(tensor.dtype()) % 8 == 0;
      sample.arrays.emplace_back(name, splits ? row_of(tensor, row) : tensor);
    }
    data.samples.push_back(std::move(sample));
  }
  return data;
}

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Result<std::vector<fs::path>> files_in(const fs::path& folder, std::string_view extension) {
  return entries_of(folder, [&](const fs::directory_entry& entry) {
    std::error_code code;
    return entry.path().extension() == extension && entry.is_regular_file(code);
  });
}

Result<std::vector<fs::path>> folders_in(const fs::path& folder) {
  return entries_of(folder, [](const fs::directory_entry& entry) {
    std::error_code code;
    return entry.is_directory(code);
  });
}

Result<RawData> read_one_npz(const fs::path& file, const std::vector<InputInfo>& inputs, size_t limit) {
  return split_samples(HONE_TRY(read_npz(file)), file, inputs, limit, ".npz file");
}

Result<RawData> read_one_npy(const fs::path& file, const std::vector<InputInfo>& inputs, size_t limit) {
  std::vector<std::string> required;
  for (const auto& input : inputs)
    if (input.required) required.push_back(input.name);
  if (required.size() != 1)
    return fail(bad_input(fmt::format("one .npy can't feed a model with {} inputs", required.size()), file.string(),
                          "give a folder of .npy files named after the inputs, or a .npz"));
  return split_samples({{required[0], HONE_TRY(read_npy(file))}}, file, inputs, limit, ".npy file");
}

Result<RawData> read_npz_files(const std::vector<fs::path>& files, size_t limit) {
  RawData data;
  for (const auto& file : files) {
    if (limit != 0 && data.samples.size() == limit) break;
    data.samples.push_back({file.string(), HONE_TRY(read_npz(file))});
  }
  data.kind = counted(data.samples.size(), ".npz file");
  return data;
}

Result<RawData> read_npy_folders(const std::vector<fs::path>& folders, size_t limit) {
  RawData data;
  for (const auto& folder : folders) {
    if (limit != 0 && data.samples.size() == limit) break;
    RawSample sample{folder.string(), {}};
    for (const auto& file : HONE_TRY(files_in(folder, ".npy"))) {
      auto named = undo_suffix(file.stem().string(), HONE_TRY(read_npy(file)));
      sample.arrays.push_back(std::move(named));
    }
    data.samples.push_back(std::move(sample));
  }
  data.kind = counted(data.samples.size(), "folder") + " of .npy files";
  return data;
}

}  // namespace hone::protocol
