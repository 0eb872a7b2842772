// SPDX-License-Identifier: Apache-2.0
#include "protocol/dims.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "protocol/roles.h"

namespace hone::protocol {

namespace {

constexpr int64_t kDefaultBatch = 1;
// ImageNet's usual size, and a multiple of the 32 that fully convolutional networks ask for.
constexpr int64_t kDefaultSide = 224;
// A short sentence; long enough that attention and convolutions have something to do.
constexpr int64_t kDefaultOther = 16;

using Symbols = std::map<std::string, int64_t>;

bool is_image_side(const InputInfo& input, size_t axis) {
  const auto layout = image_layout(input.name, input.type);
  return layout && (axis == layout->height || axis == layout->width);
}

// [2, ?, 128]: the state of a recurrent network, [layers, batch, width].
bool is_state_batch(const model::Shape& shape, size_t axis) {
  return shape.size() == 3 && axis == 1 && shape[0].known() && shape[2].known() && shape[1].symbol.empty();
}

// The value of "a + b + 1" when all parts are known.
std::optional<int64_t> sum_of(std::string_view text, const Symbols& symbols) {
  int64_t sum = 0;
  while (true) {
    const size_t plus = std::min(text.find('+'), text.size());
    std::string_view part = text.substr(0, plus);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size()) {
      const auto known = symbols.find(std::string(part));
      if (known == symbols.end()) return std::nullopt;
      number = known->second;
    }
    sum += number;
    if (plus == text.size()) return sum;
    text.remove_prefix(plus + 1);
  }
}

// "total_sequence_length" beside "past_sequence_length" and "sequence_length", or "total" beside "past" and "seq": the
// sum, as exporters mean it.
std::optional<int64_t> total_of(const std::string& symbol, const Symbols& symbols) {
  if (!symbol.starts_with("total")) return std::nullopt;
  std::optional<int64_t> past, now;
  for (const auto& [name, value] : symbols) {
    if (name.starts_with("past")) past = value;
    if (name.starts_with("seq")) now = value;
  }
  return past && now ? std::optional(*past + *now) : std::nullopt;
}

std::optional<int64_t> implied(const std::string& symbol, const Symbols& symbols) {
  if (symbol.empty()) return std::nullopt;
  if (const auto known = symbols.find(symbol); known != symbols.end()) return known->second;
  if (const auto total = total_of(symbol, symbols)) return total;
  return symbol.find('+') != std::string::npos ? sum_of(symbol, symbols) : std::nullopt;
}

// True when the symbol can only be known after others: it waits for them.
bool waits(const std::string& symbol) { return symbol.find('+') != std::string::npos || symbol.starts_with("total"); }

Symbols symbols_given(const std::vector<InputInfo>& inputs, const Shapes& shapes) {
  Symbols symbols;
  for (const auto& input : inputs) {
    const auto given = shapes.find(input.name);
    if (given == shapes.end() || !input.type.shape) continue;
    for (size_t d = 0; d < given->second.size() && d < input.type.shape->size(); ++d)
      if (const auto& symbol = (*input.type.shape)[d].symbol; !symbol.empty())
        symbols.emplace(symbol, given->second[d]);
  }
  return symbols;
}

int64_t default_dim(const InputInfo& input, size_t axis) {
  const std::string& symbol = (*input.type.shape)[axis].symbol;
  if (axis == 0 || symbol.find("batch") != std::string::npos) return kDefaultBatch;
  if (is_state_batch(*input.type.shape, axis)) return kDefaultBatch;
  return is_image_side(input, axis) ? kDefaultSide : kDefaultOther;
}

}  // namespace

Result<Shapes> resolve_dims(const std::vector<InputInfo>& inputs, const Shapes& shapes,
                            std::vector<std::string>& notes) {
  Shapes out;
  Symbols symbols = symbols_given(inputs, shapes);
  for (const auto& input : inputs) {
    if (const auto given = shapes.find(input.name); given != shapes.end()) {
      out[input.name] = given->second;
    } else if (!input.type.shape) {
      return fail(bad_input(fmt::format("the rank of input '{}' is not known", input.name), {},
                            fmt::format("say --shape {}:1x16, or give --data", input.name)));
    } else {
      for (const auto& dim : *input.type.shape) out[input.name].push_back(dim.value);
    }
  }
  for (const bool second : {false, true})  // first the plain symbols, then those made of others
    for (const auto& input : inputs) {
      auto& dims = out[input.name];
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] >= 0) continue;
        const std::string& symbol = (*input.type.shape)[d].symbol;
        if (!second && waits(symbol) && !symbols.contains(symbol)) continue;
        const auto known = implied(symbol, symbols);
        dims[d] = known ? *known : default_dim(input, d);
        if (!symbol.empty()) symbols.emplace(symbol, dims[d]);
        if (!known)
          add_note(notes, fmt::format("dim {}{} of input '{}' set to {} (--shape changes it)", d,
                                      symbol.empty() ? "" : " (" + symbol + ")", input.name, dims[d]));
      }
    }
  return out;
}

}  // namespace hone::protocol
