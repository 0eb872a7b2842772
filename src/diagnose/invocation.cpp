// SPDX-License-Identifier: Apache-2.0
// Shapes of a run (invocation.h).
#include "diagnose/invocation.h"

#include <algorithm>
#include <charconv>

namespace hone::diagnose {

namespace {

std::string_view next_field(std::string_view& list, char separator) {
  const size_t end = list.find(separator);
  const std::string_view field = list.substr(0, end);
  list = end == std::string_view::npos ? std::string_view{} : list.substr(end + 1);
  return field;
}

// "1x3x224" -> dims; "" is a scalar; anything else ("?") is not known.
bool parse_dims(std::string_view text, std::vector<int64_t>& dims) {
  while (!text.empty()) {
    const std::string_view number = next_field(text, 'x');
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), dim);
    if (error != std::errc() || end != number.data() + number.size()) return false;
    dims.push_back(dim);
  }
  return true;
}

// The profile's list of shapes; empty when it has none.
std::vector<Operand> from_profile(std::string_view shapes, std::string_view dtypes) {
  std::vector<Operand> operands;
  while (!dtypes.empty()) {
    Operand operand;
    operand.present = true;
    operand.dtype = model::dtype_from_name(next_field(dtypes, ','));
    operand.known = parse_dims(next_field(shapes, ','), operand.dims);
    operands.push_back(std::move(operand));
  }
  return operands;
}

Operand from_graph(const model::Graph& graph, model::ValueId id) {
  Operand operand;
  if (id == model::kNoValue) return operand;
  operand.present = true;
  operand.constant = graph.constant(id) != nullptr;
  const model::Type& type = graph.value(id).type;
  operand.dtype = type.dtype;
  if (const model::Tensor* tensor = graph.constant(id)) {
    operand.dtype = tensor->dtype();
    operand.dims = tensor->dims();
    operand.known = true;
  } else if (const auto dims = type.dims()) {
    operand.dims = *dims;
    operand.known = true;
  }
  return operand;
}

// The profile's inputs are the node's without those absent, and without weights the engine has packed into its own
// layout (ONNX Runtime drops those). So: walk over the node's inputs; while some are missing, one whose known shape is
// not the next in the profile is such a weight, and is taken from the graph.
std::vector<Operand> aligned(std::vector<Operand> seen, const NodeRef& root) {
  std::vector<Operand> inputs;
  size_t missing = 0;
  for (model::ValueId id : root.node().inputs) missing += id != model::kNoValue;
  missing = seen.empty() ? 0 : missing - std::min(missing, seen.size());  // empty: the profile has no shapes at all
  size_t next = 0;
  for (model::ValueId id : root.node().inputs) {
    if (id == model::kNoValue) {
      inputs.emplace_back();
      continue;
    }
    Operand of_graph = from_graph(*root.graph, id);
    const bool differs = of_graph.known && (next == seen.size() || seen[next].dims != of_graph.dims);
    if (missing > 0 && differs) {
      inputs.push_back(std::move(of_graph));
      inputs.back().constant = true;
      --missing;
    } else if (next < seen.size()) {
      inputs.push_back(std::move(seen[next++]));
      inputs.back().constant = of_graph.constant;
    } else {
      inputs.push_back(std::move(of_graph));
    }
  }
  for (; next < seen.size(); ++next) inputs.push_back(std::move(seen[next]));  // fused in: a bias, a residual
  return inputs;
}

}  // namespace

Invocation invocation_of(const profile::Profile& profile, const profile::Operator& row, const NodeRef& root) {
  Invocation invocation;
  invocation.type = profile.text(row.type);
  invocation.inputs = from_profile(profile.text(row.shapes), profile.text(row.dtypes));
  invocation.outputs = from_profile(profile.text(row.output_shapes), profile.text(row.output_dtypes));
  if (root) {
    invocation.node = &root.node();
    invocation.inputs = aligned(std::move(invocation.inputs), root);
    if (invocation.outputs.empty())
      for (model::ValueId id : root.node().outputs) invocation.outputs.push_back(from_graph(*root.graph, id));
  } else if (class_of(invocation.type) == OperatorClass::kConv && invocation.inputs.size() > 1) {
    invocation.inputs[1].constant = true;  // filters computed by other nodes are next to unknown
  }
  return invocation;
}

model::DType computed_with(const Invocation& invocation) {
  using model::DType;
  const OperatorClass klass = class_of(invocation.type);
  if ((klass == OperatorClass::kMatMul || klass == OperatorClass::kConv) && invocation.type != "MatMulNBits")
    for (const Operand& input : invocation.inputs)
      if (input.dtype == DType::kInt8 || input.dtype == DType::kUint8) return input.dtype;
  return invocation.inputs.empty() ? DType::kUndefined : invocation.inputs.front().dtype;
}

}  // namespace hone::diagnose
