// SPDX-License-Identifier: Apache-2.0
#include "protocol/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "protocol/convert.h"

namespace hone::protocol {

using model::DType;
using model::NamedTensors;
using model::Tensor;
using model::Type;
using model::TypeKind;

namespace {

// The input's type with the user's dims in place of unknown ones.
Type laid_over(const InputInfo& input, const Shapes& shapes) {
  Type type = input.type;
  const auto given = shapes.find(input.name);
  if (given == shapes.end()) return type;
  type.shape.emplace();
  for (const int64_t dim : given->second) type.shape->push_back({dim, ""});
  return type;
}

bool dims_fit(const Tensor& tensor, const Type& type) {
  if (!type.shape) return true;
  if (tensor.dims().size() != type.shape->size()) return false;
  for (size_t d = 0; d < type.shape->size(); ++d)
    if ((*type.shape)[d].known() && (*type.shape)[d].value != tensor.dims()[d]) return false;
  return true;
}

std::string misfit(const Tensor& tensor, const Type& type) {
  if (tensor.dims().size() != type.shape->size())
    return fmt::format("has rank {}, the model expects rank {}", tensor.rank(), type.rank());
  for (size_t d = 0; d < type.shape->size(); ++d)
    if ((*type.shape)[d].known() && (*type.shape)[d].value != tensor.dims()[d])
      return fmt::format("has {} in dim {}, the model expects {}", tensor.dims()[d], d, (*type.shape)[d].value);
  return {};
}

bool has_nan_or_inf(const Tensor& tensor) {
  if (!model::is_floating(tensor.dtype())) return false;
  const auto values = tensor.to_doubles();
  return values && std::any_of(values->begin(), values->end(), [](double v) { return !std::isfinite(v); });
}

// One note per input, with the first place: a folder may have thousands of such samples.
void note_nan(const InputInfo& input, const Tensor& tensor, const std::string& where, std::vector<std::string>& notes) {
  const std::string start = fmt::format("input '{}' has NaN or Inf", input.name);
  const auto known = [&](const std::string& note) { return note.starts_with(start); };
  if (std::any_of(notes.begin(), notes.end(), known) || !has_nan_or_inf(tensor)) return;
  notes.push_back(fmt::format("{}, first in {}", start, where));
}

Result<Tensor> fit_array(const InputInfo& input, const Tensor& array, const Shapes& shapes, const std::string& where) {
  const Type type = laid_over(input, shapes);
  const std::string tail = fmt::format("expected {}, found {}", expected_text(input, shapes), found_text(array));
  if (!dims_fit(array, type))
    return fail(bad_input(fmt::format("input '{}' {}", input.name, misfit(array, type)), where, tail));
  if (type.dtype == DType::kUndefined || type.dtype == array.dtype()) return array;
  auto converted = convert_lossless(array, type.dtype);
  if (!converted)
    return fail(bad_input(fmt::format("input '{}' has dtype {}, which can't become {} without loss", input.name,
                                      model::dtype_name(array.dtype()), model::dtype_name(type.dtype)),
                          where, tail));
  return std::move(*converted);
}

void note_symbols(const std::vector<InputInfo>& inputs, const NamedTensors& sample, std::vector<std::string>& notes) {
  std::map<std::string, std::pair<int64_t, std::string>> seen;
  for (const auto& input : inputs) {
    const Tensor* tensor = find_tensor(sample, input.name);
    if (tensor == nullptr || !input.type.shape) continue;
    for (size_t d = 0; d < input.type.shape->size() && d < tensor->dims().size(); ++d) {
      const std::string& symbol = (*input.type.shape)[d].symbol;
      if (symbol.empty()) continue;
      const auto [it, fresh] = seen.try_emplace(symbol, tensor->dims()[d], input.name);
      if (!fresh && it->second.first != tensor->dims()[d])
        add_note(notes, fmt::format("dim '{}' is {} in input '{}' and {} in input '{}'", symbol, it->second.first,
                                    it->second.second, tensor->dims()[d], input.name));
    }
  }
}

std::string names_of(const NamedTensors& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : arrays) names.push_back(name);
  if (names.size() > 8) names.resize(8), names.push_back("...");
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void add_note(std::vector<std::string>& notes, std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

std::string expected_text(const InputInfo& input, const Shapes& shapes) { return to_text(laid_over(input, shapes)); }

std::string found_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", model::dtype_name(tensor.dtype()), fmt::join(tensor.dims(), ","));
}

Result<std::vector<InputInfo>> inputs_of(const model::Graph& graph) {
  std::vector<InputInfo> inputs;
  for (const model::ValueId id : graph.inputs()) {
    const model::Value& value = graph.value(id);
    const bool required = !value.initializer.has_value();
    const bool is_tensor = value.type.kind == TypeKind::kTensor || value.type.kind == TypeKind::kUnknown;
    if (!is_tensor && required)
      return fail(unsupported(fmt::format("input '{}' is {}: only tensors can be fed", value.name, to_text(value.type)),
                              "", "change the model so that its inputs are tensors"));
    if (is_tensor) inputs.push_back({value.name, value.type, required});
  }
  return inputs;
}

Result<NamedTensors> fit_sample(const std::vector<InputInfo>& inputs, const NamedTensors& arrays, const Shapes& shapes,
                                const std::string& where, std::vector<std::string>& notes) {
  NamedTensors sample;
  for (const auto& input : inputs) {
    const Tensor* array = find_tensor(arrays, input.name);
    if (array == nullptr) {
      if (!input.required) continue;
      return fail(bad_input(
          fmt::format("data for input '{}' is missing", input.name), where,
          fmt::format("expected {} {}, found arrays: {}", input.name, expected_text(input, shapes), names_of(arrays))));
    }
    Tensor fitted = HONE_TRY(fit_array(input, *array, shapes, where));
    note_nan(input, fitted, where, notes);
    sample.emplace_back(input.name, std::move(fitted));
  }
  for (const auto& [name, tensor] : arrays) {
    const auto is_input = [&name = name](const InputInfo& input) { return input.name == name; };
    if (std::none_of(inputs.begin(), inputs.end(), is_input))
      add_note(notes, fmt::format("array '{}' is ignored: the model has no such input", name));
  }
  note_symbols(inputs, sample, notes);
  return sample;
}

Status check_shapes(const std::vector<InputInfo>& inputs, const Shapes& shapes) {
  for (const auto& [name, dims] : shapes) {
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [&name = name](const auto& i) { return i.name == name; });
    if (input == inputs.end()) {
      std::vector<std::string> names;
      for (const auto& i : inputs) names.push_back(i.name);
      return fail(usage_error(fmt::format("--shape names an input the model does not have: '{}'", name), {},
                              fmt::format("its inputs: {}", fmt::join(names, ", "))));
    }
    if (input->type.shape && input->type.shape->size() != dims.size())
      return fail(usage_error(
          fmt::format("--shape for '{}' has rank {}, the model expects {}", name, dims.size(), to_text(input->type))));
    for (size_t d = 0; input->type.shape && d < dims.size(); ++d)
      if ((*input->type.shape)[d].known() && (*input->type.shape)[d].value != dims[d])
        return fail(usage_error(fmt::format("--shape for '{}' has {} in dim {}, the model expects {}", name, dims[d], d,
                                            (*input->type.shape)[d].value)));
  }
  return {};
}

}  // namespace hone::protocol
