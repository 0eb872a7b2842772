// test_data_set folders of the ONNX backend tests: input_0.pb, input_1.pb, ... one serialized TensorProto each.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "model/tensor_file.h"
#include "protocol/reader.h"

namespace hone::protocol {

namespace {

// 3 of "input_3.pb"; nullopt for other files (output_0.pb).
std::optional<size_t> input_number(const fs::path& file) {
  const std::string stem = file.stem().string();
  if (!stem.starts_with("input_")) return std::nullopt;
  size_t number = 0;
  const auto [end, error] = std::from_chars(stem.data() + 6, stem.data() + stem.size(), number);
  return error == std::errc() && end == stem.data() + stem.size() ? std::optional(number) : std::nullopt;
}

// The input a file is for: by the tensor's own name, else by number.
Result<std::string> input_name(const std::string& name, size_t number, const std::vector<InputInfo>& inputs,
                               const fs::path& file) {
  const auto same = [&](const InputInfo& input) { return input.name == name; };
  if (std::any_of(inputs.begin(), inputs.end(), same)) return name;
  if (number >= inputs.size())
    return fail(bad_input(fmt::format("data for input number {}, the model has {} inputs", number, inputs.size()),
                          file.string()));
  return inputs[number].name;
}

}  // namespace

Result<RawData> read_test_data_sets(const std::vector<fs::path>& folders, const std::vector<InputInfo>& inputs,
                                    size_t limit) {
  // Inputs with a default come after the others in such models, or aren't fed at all.
  std::vector<InputInfo> ordered = inputs;
  std::stable_partition(ordered.begin(), ordered.end(), [](const InputInfo& input) { return input.required; });
  RawData data;
  for (const auto& folder : folders) {
    if (limit != 0 && data.samples.size() == limit) break;
    RawSample sample{folder.string(), {}};
    for (const auto& file : HONE_TRY(files_in(folder, ".pb"))) {
      const auto number = input_number(file);
      if (!number) continue;
      auto [name, tensor] = HONE_TRY(model::read_tensor_file(file));
      std::string input = HONE_TRY(input_name(name, *number, ordered, file));
      if (find_tensor(sample.arrays, input) != nullptr)
        return fail(bad_input(fmt::format("input '{}' is there twice", input), file.string()));
      sample.arrays.emplace_back(std::move(input), std::move(tensor));
    }
    data.samples.push_back(std::move(sample));
  }
  data.kind = fmt::format("{} test data set{}", data.samples.size(), data.samples.size() == 1 ? "" : "s");
  return data;
}

}  // namespace hone::protocol
