// Synthetic samples: seeded, the same on every machine, in ranges that make sense to the model (roles.h). They measure
// speed well enough; they prove nothing about quantization, and reports say so.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "protocol/data.h"
#include "protocol/dims.h"
#include "protocol/inputs.h"
#include "protocol/random.h"
#include "protocol/roles.h"

namespace hone::protocol {

using model::DType;
using model::NamedTensors;
using model::Tensor;

namespace {

// Diffusion schedulers train with this many steps.
constexpr uint64_t kTimesteps = 1000;

// The length of a sequence: the largest dim that the model leaves open in another input, the first (batch) excepted;
// without any, the largest second dim.
int64_t sequence_length(const std::vector<InputInfo>& inputs, const Shapes& dims) {
  int64_t open = 0, second = 0;
  for (const auto& input : inputs) {
    const auto& own = dims.at(input.name);
    for (size_t d = 1; d < own.size(); ++d) {
      const bool is_open = input.type.shape && d < input.type.shape->size() && !(*input.type.shape)[d].known();
      if (is_open) open = std::max(open, own[d]);
    }
    if (own.size() > 1) second = std::max(second, own[1]);
  }
  return std::max<int64_t>(1, open > 0 ? open : second);
}

double value_for(const Role& role, DType dtype, Random& random, int64_t position, int64_t length) {
  const bool floating = model::is_floating(dtype);
  switch (role.kind) {
    case Role::Kind::kFree:
      return floating ? random.normal() : static_cast<double>(random.below(2));
    case Role::Kind::kIndex:
      return static_cast<double>(role.lowest +
                                 static_cast<int64_t>(random.below(static_cast<uint64_t>(role.limit - role.lowest))));
    case Role::Kind::kPosition:
      return static_cast<double>(role.limit > 0 ? position % role.limit : position);
    case Role::Kind::kMask:
    case Role::Kind::kChoice:
      return static_cast<double>(role.value);
    case Role::Kind::kLength:
      return static_cast<double>(length);
    case Role::Kind::kTimestep:
      return static_cast<double>(random.below(kTimesteps));
    case Role::Kind::kImage:
      return floating ? random.uniform() : static_cast<double>(random.below(256));
  }
  return 0;
}

std::string range_text(const Role& role, DType dtype, int64_t length) {
  switch (role.kind) {
    case Role::Kind::kFree:
      return model::is_floating(dtype) ? "normal(0,1)" : "0 or 1: nothing is known about its range";
    case Role::Kind::kIndex:
      return fmt::format("integers {} to {}", role.lowest, role.limit - 1);
    case Role::Kind::kPosition:
      return "positions 0, 1, 2, ...";
    case Role::Kind::kMask:
      return role.value == 1 ? "ones (nothing is masked)" : "zeros (nothing is masked)";
    case Role::Kind::kLength:
      return fmt::format("the sequence length {}", length);
    case Role::Kind::kChoice:
      return std::to_string(role.value);
    case Role::Kind::kTimestep:
      return "steps 0 to 999";
    case Role::Kind::kImage:
      return model::is_floating(dtype) ? "uniform in [0,1]" : "bytes 0 to 255";
  }
  return {};
}

Tensor bool_tensor(std::vector<int64_t> dims, const std::vector<double>& values) {
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(DType::kBool, std::move(dims), &out);
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<std::byte>(values[i] != 0);
  return tensor;
}

Result<Tensor> make_tensor(const InputInfo& input, const std::vector<int64_t>& dims, const Role& role, int64_t length,
                           Random random) {
  const int64_t count = model::element_count(dims);
  const DType dtype = input.type.dtype;
  if (count < 0 || count > (int64_t{1} << 34))
    return fail(
        bad_input(fmt::format("input '{}' would have impossibly many elements", input.name), {}, "check --shape"));
  if (dtype == DType::kString) {
    std::vector<std::string> words;
    for (int64_t i = 0; i < count; ++i) words.push_back(fmt::format("word {}", random.below(1000)));
    return Tensor(dims, std::move(words));
  }
  std::vector<double> values(static_cast<size_t>(count));
  const int64_t width = dims.empty() ? 1 : std::max<int64_t>(1, dims.back());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = value_for(role, dtype, random, static_cast<int64_t>(i) % width, length);
  if (dtype == DType::kBool) return bool_tensor(dims, values);
  auto tensor = Tensor::from_doubles(dtype, dims, values);
  if (!tensor)
    return fail(unsupported(
        fmt::format("input '{}' is {}: hone can't make synthetic values of it", input.name, model::dtype_name(dtype)),
        {}, "give --data"));
  return tensor;
}

}  // namespace

Result<Dataset> synthesize(const model::Graph& graph, const Shapes& shapes, size_t count, uint64_t seed) {
  auto inputs = HONE_TRY(inputs_of(graph));
  HONE_TRY(check_shapes(inputs, shapes));
  // An input with a default keeps it.
  std::erase_if(inputs, [&](const InputInfo& input) { return !input.required && !shapes.contains(input.name); });
  Dataset data;
  data.synthetic = true;
  data.source = fmt::format("synthetic, seed {}", seed);
  if (inputs.empty()) {
    data.samples.emplace_back();
    data.notes = {"the model has no inputs: one empty sample"};
    return data;
  }
  const Shapes dims = HONE_TRY(resolve_dims(inputs, shapes, data.notes));
  const int64_t length = sequence_length(inputs, dims);
  data.samples.resize(count);
  for (const auto& input : inputs) {
    const Role role = role_of(graph, graph.find_value(input.name));
    if (input.type.dtype != DType::kString)
      data.notes.push_back(fmt::format("input '{}': {}{}", input.name, range_text(role, input.type.dtype, length),
                                       role.why.empty() ? "" : ", " + role.why));
    for (size_t i = 0; i < count; ++i)
      data.samples[i].emplace_back(
          input.name, HONE_TRY(make_tensor(input, dims.at(input.name), role, length, Random(seed, input.name, i))));
  }
  return data;
}

}  // namespace hone::protocol
