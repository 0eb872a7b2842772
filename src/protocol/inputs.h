// Inputs: what a model wants to be fed, and whether arrays fit it. Every reader of data (npz, pb, JSON lines) ends
// here, so that one place decides about missing inputs, dtypes, ranks and dims, and words the errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph.h"
#include "protocol/data.h"

namespace hone::protocol {

struct InputInfo {
  std::string name;
  model::Type type;
  bool required = true;  // false: an initializer gives its default
};

// The graph's inputs in order. Sequence, map, sparse and optional inputs that are required are an Error (kUnsupported).
Result<std::vector<InputInfo>> inputs_of(const model::Graph& graph);

// One sample out of named arrays: the model's order and dtypes. Errors name `where`, the input, what is expected and
// what was found. Notes: arrays without an input, NaN or Inf, one symbol with two sizes.
Result<model::NamedTensors> fit_sample(const std::vector<InputInfo>& inputs, const model::NamedTensors& arrays,
                                       const Shapes& shapes, const std::string& where, std::vector<std::string>& notes);

// Ok when every name of --shape is an input of that rank and no dim contradicts a fixed one.
Status check_shapes(const std::vector<InputInfo>& inputs, const Shapes& shapes);

// Adds a note when it is not there yet.
void add_note(std::vector<std::string>& notes, std::string note);

// "float32[batch,3]": what an input expects, with `shapes` laid over the type.
std::string expected_text(const InputInfo& input, const Shapes& shapes);
// "float64[2,3]".
std::string found_text(const model::Tensor& tensor);

}  // namespace hone::protocol
