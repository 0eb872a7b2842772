// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/json.h"
#include "protocol/convert.h"
#include "protocol/reader.h"

namespace hone::protocol {

using model::DType;
using model::Tensor;

namespace {

// Nesting deeper than any tensor's rank is an attack on the stack, not data.
constexpr size_t kMaxRank = 64;

// Leaves of nested lists in order, with the dims of the nesting.
struct Flat {
  std::vector<int64_t> dims;
  std::vector<const Json*> leaves;
};

std::optional<std::string> flatten(const Json& value, size_t depth, Flat& out) {
  if (depth > kMaxRank) return "lists are nested too deep";
  if (!value.is_array()) {
    if (depth != out.dims.size()) return "lists are ragged: numbers and lists side by side";
    out.leaves.push_back(&value);
    return std::nullopt;
  }
  const auto size = static_cast<int64_t>(value.size());
  if (depth == out.dims.size()) {
    if (!out.leaves.empty()) return "lists are ragged: numbers and lists side by side";
    out.dims.push_back(size);
  } else if (out.dims[depth] != size) {
    return fmt::format("lists are ragged: {} elements beside {} at depth {}", out.dims[depth], size, depth);
  }
  for (const auto& element : value)
    if (auto problem = flatten(element, depth + 1, out)) return problem;
  return std::nullopt;
}

std::optional<Tensor> strings_of(const Flat& flat) {
  std::vector<std::string> strings;
  for (const Json* leaf : flat.leaves) {
    if (!leaf->is_string()) return std::nullopt;
    strings.push_back(leaf->get<std::string>());
  }
  return Tensor(flat.dims, std::move(strings));
}

std::optional<Tensor> numbers_of(const Flat& flat, DType dtype) {
  const auto whole = [](const Json* leaf) {
    return leaf->is_boolean() ||
           (leaf->is_number_integer() && (!leaf->is_number_unsigned() || leaf->get<uint64_t>() < (1ull << 63)));
  };
  const auto number = [](const Json* leaf) { return leaf->is_number() || leaf->is_boolean(); };
  if (!std::all_of(flat.leaves.begin(), flat.leaves.end(), number)) return std::nullopt;
  if (std::all_of(flat.leaves.begin(), flat.leaves.end(), whole)) {
    std::vector<int64_t> values;
    for (const Json* leaf : flat.leaves)
      values.push_back(leaf->is_boolean() ? static_cast<int64_t>(leaf->get<bool>()) : leaf->get<int64_t>());
    return from_integers(values, flat.dims, dtype == DType::kUndefined ? DType::kInt64 : dtype);
  }
  std::vector<double> values;
  for (const Json* leaf : flat.leaves)
    values.push_back(leaf->is_boolean() ? (leaf->get<bool>() ? 1.0 : 0.0) : leaf->get<double>());
  return from_numbers(values, flat.dims, dtype == DType::kUndefined ? DType::kFloat : dtype);
}

Result<Tensor> tensor_of_lists(const Json& value, const InputInfo& input, const std::string& where) {
  Flat flat;
  if (auto problem = flatten(value, 0, flat))
    return fail(bad_input(fmt::format("input '{}': {}", input.name, *problem), where));
  const bool text = input.type.dtype == DType::kString;
  auto tensor = text ? strings_of(flat) : numbers_of(flat, input.type.dtype);
  if (!tensor)
    return fail(
        bad_input(fmt::format("input '{}' has a value that is no {}", input.name, model::dtype_name(input.type.dtype)),
                  where, "expected " + expected_text(input, {})));
  return std::move(*tensor);
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<int, 256> value_of{};
  value_of.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) value_of[static_cast<unsigned char>(kDigits[i])] = static_cast<int>(i);
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::vector<std::byte> out;
  out.reserve(text.size() * 3 / 4);
  unsigned buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = value_of[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    buffer = (buffer << 6 | static_cast<unsigned>(value)) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out.push_back(static_cast<std::byte>(buffer >> bits & 0xff));
  }
  return out;
}

Result<Tensor> tensor_of_base64(const Json& value, const InputInfo& input, const std::string& where) {
  const auto named = [&](Error error) {
    return fail(std::move(error).with(fmt::format("input '{}', {}", input.name, where)));
  };
  auto text = json_field<std::string>(value, "b64");
  if (!text) return named(text.error());
  auto word = json_field<std::string>(value, "dtype");
  if (!word) return named(word.error());
  auto dims = json_field<std::vector<int64_t>>(value, "shape");
  if (!dims) return named(dims.error());
  const DType dtype = model::dtype_from_name(*word);
  if (dtype == DType::kUndefined || dtype == DType::kString)
    return named(bad_input("unknown dtype '" + *word + "'", {}, "use numpy's words: float32, int64, ..."));
  auto bytes = from_base64(*text);
  if (!bytes) return named(bad_input("b64 is not base64"));
  const int64_t count = model::element_count(*dims);
  if (count < 0 || model::packed_size(dtype, count) != bytes->size())
    return named(bad_input(fmt::format("b64 holds {} bytes, {}[{}] needs {}", bytes->size(), *word,
                                       fmt::join(*dims, ","), count < 0 ? 0 : model::packed_size(dtype, count))));
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
  return Tensor(dtype, std::move(*dims), *owner, owner);
}

Result<RawSample> sample_of_line(std::string_view line, const std::vector<InputInfo>& inputs, std::string where,
                                 std::vector<std::string>& notes) {
  const Json record = HONE_TRY(parse_json(line, where));
  if (!record.is_object() || !record.contains("input") || !record["input"].is_object())
    return fail(bad_input("a record needs an object \"input\"", where, "write {\"input\": {name: values}} per line"));
  RawSample sample{where, {}};
  for (const auto& [name, value] : record["input"].items()) {
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [&name = name](const auto& i) { return i.name == name; });
    if (input == inputs.end()) {
      add_note(notes, fmt::format("array '{}' is ignored: the model has no such input", name));
      continue;
    }
    sample.arrays.emplace_back(name, value.is_object() ? HONE_TRY(tensor_of_base64(value, *input, where))
                                                       : HONE_TRY(tensor_of_lists(value, *input, where)));
  }
  if (record.contains("meta") && record["meta"].is_object() && record["meta"].contains("sequence"))
    add_note(notes, "meta.sequence is not replayed: each record is one inference");
  return sample;
}

}  // namespace

Result<RawData> read_json_lines(const std::vector<fs::path>& files, const std::vector<InputInfo>& inputs,
                                size_t limit) {
  RawData data;
  for (const auto& file : files) {
    const std::string text = HONE_TRY(read_file(file));
    std::string_view rest = text;
    for (size_t number = 1; !rest.empty() && (limit == 0 || data.samples.size() < limit); ++number) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      data.samples.push_back(
          HONE_TRY(sample_of_line(line, inputs, fmt::format("{}:{}", file.string(), number), data.notes)));
    }
  }
  data.kind = fmt::format("{} JSON line{}", data.samples.size(), data.samples.size() == 1 ? "" : "s");
  return data;
}

}  // namespace hone::protocol
