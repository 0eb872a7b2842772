// What is known of the elements of a shape tensor before the model runs.
//
// Exporters compute Reshape and Expand targets from Shape: Concat(Gather(Shape(x), 0), 12, 64). Single elements are
// known even when the tensor as a whole is not: numbers where x's dim is a number in the graph itself (declared or
// inferred for *all* inputs, never taken from a sample), and "dim 0 of x" where it is open. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "model/graph.h"

namespace hone::change::fold {

struct Element {
  enum class Kind { kUnknown, kNumber, kDim } kind = Kind::kUnknown;
  int64_t number = 0;                   // kNumber
  model::ValueId of = model::kNoValue;  // kDim: dim `axis` of this value ...
  int axis = 0;
  static Element of_number(int64_t value) { return {Kind::kNumber, value, model::kNoValue, 0}; }
};

struct Elements {
  bool is_scalar = false;  // rank 0; else rank 1
  std::vector<Element> list;
  // All elements when they are numbers.
  std::optional<std::vector<int64_t>> numbers() const;
};

// Elements of an integer tensor of rank 0 or 1; nullopt when even their count is not known.
std::optional<Elements> known_elements(const model::Graph& graph, model::ValueId value);

}  // namespace hone::change::fold
