// SPDX-License-Identifier: Apache-2.0
#include "accuracy/layerwise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "protocol/data.h"

namespace hone::accuracy {

using model::Graph;
using model::Model;
using model::Node;
using model::NodeId;
using model::Value;
using model::ValueId;

namespace {

// Outputs of one chunk and sample are in memory at once, of both models: this keeps them well under what a worker may
// take, and a model of a hundred layers in a few chunks.
constexpr int64_t kChunkBytes = int64_t{256} << 20;
constexpr size_t kChunkTensors = 64;

bool comparable(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return value.type.kind == model::TypeKind::kTensor && value.type.dtype != model::DType::kUndefined &&
         value.producer != model::kNoNode && graph.constant(id) == nullptr;
}

int64_t bytes_of(const model::Type& type) {
  const auto dims = type.dims();
  const int64_t count = dims ? model::element_count(*dims) : 0;
  return count <= 0 || type.dtype == model::DType::kString
             ? 0
             : static_cast<int64_t>(model::packed_size(type.dtype, count));
}

// Calls `visit` for a value and what it is made of, back to where visit says no.
template <class Visit>
void walk_back(const Graph& graph, ValueId from, Visit visit) {
  std::vector<ValueId> open = {from};
  std::set<ValueId> seen = {from};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    const NodeId producer = graph.value(id).producer;
    if (producer == model::kNoNode || !visit(id)) continue;
    const auto follow = [&](ValueId input) {
      if (input != model::kNoValue && seen.insert(input).second) open.push_back(input);
    };
    for (const ValueId input : graph.node(producer).inputs) follow(input);
    for (const ValueId input : graph.captures(producer)) follow(input);
  }
}

std::string what_is_there(const Graph& a, const Graph& b, const std::string& tensor) {
  const Node* before = a.producer(a.find_value(tensor));
  const Node* after = b.producer(b.find_value(tensor));
  if (before == nullptr || after == nullptr) return {};
  if (before->op_type != after->op_type) return fmt::format("{} in place of {}", after->op_type, before->op_type);
  return fmt::format("the same operator {} with other inputs, weights or attributes", after->op_type);
}

Departure describe(const Graph& a, const Graph& b, const Metrics& departed, const std::vector<Metrics>& holding) {
  Departure out;
  out.tensor = departed.name;
  out.metrics = departed;
  const ValueId in_a = a.find_value(departed.name), in_b = b.find_value(departed.name);
  out.node = a.node(a.value(in_a).producer).label(a);
  out.rule = what_is_there(a, b, departed.name);
  walk_back(b, in_b, [&](ValueId id) {
    const auto known = std::find_if(holding.begin(), holding.end(),
                                    [&](const Metrics& m) { return id != in_b && m.name == b.value(id).name; });
    if (known != holding.end()) {
      out.input_error = std::max(out.input_error, known->relative_max);
      return false;
    }
    out.nodes.push_back(b.node(b.value(id).producer).label(b));
    return true;
  });
  std::reverse(out.nodes.begin(), out.nodes.end());
  return out;
}

Status run_with_outputs(const Model& model, const std::vector<std::string>& names, const fs::path& file,
                        const fs::path& outputs, Side side, const RunModel& run) {
  Model copy = model.clone();
  for (const auto& name : names) copy.graph().add_output(copy.graph().find_value(name));
  HONE_TRY(copy.save(file));
  return run(side, file, outputs);
}

// Metrics of the chunk's tensors, worst over samples, in the chunk's order.
Result<std::vector<Metrics>> compare_chunk(const fs::path& a, const fs::path& b,
                                           const std::vector<std::string>& names) {
  const auto left = HONE_TRY(protocol::sample_files(a));
  const auto right = HONE_TRY(protocol::sample_files(b));
  if (left.size() != right.size() || left.empty())
    return fail(bad_input("the two models gave different numbers of samples", b.string()));
  std::vector<Metrics> worst;
  for (size_t i = 0; i < left.size(); ++i) {
    const auto before = HONE_TRY(protocol::read_npz(left[i])), after = HONE_TRY(protocol::read_npz(right[i]));
    model::NamedTensors wanted;
    for (const auto& name : names)
      if (const auto* tensor = find_tensor(before, name); tensor != nullptr) wanted.emplace_back(name, *tensor);
    merge(worst, compare_outputs(wanted, after));
  }
  return worst;
}

}  // namespace

std::vector<SharedTensor> shared_tensors(const Graph& a, const Graph& b) {
  std::vector<SharedTensor> out;
  for (const NodeId id : a.order())
    for (const ValueId output : a.node(id).outputs) {
      if (output == model::kNoValue || !comparable(a, output)) continue;
      const Value& value = a.value(output);
      const ValueId other = b.find_value(value.name);
      if (other == model::kNoValue || !comparable(b, other) || b.value(other).type.dtype != value.type.dtype) continue;
      out.push_back({value.name, bytes_of(value.type)});
    }
  return out;
}

std::vector<std::vector<std::string>> chunks_of(const std::vector<SharedTensor>& tensors, int64_t byte_limit,
                                                size_t count_limit) {
  std::vector<std::vector<std::string>> chunks;
  int64_t bytes = 0;
  for (const auto& tensor : tensors) {
    const bool full = chunks.empty() || chunks.back().size() >= count_limit || bytes + tensor.bytes > byte_limit;
    if (full) chunks.emplace_back(), bytes = 0;
    chunks.back().push_back(tensor.name);
    bytes += tensor.bytes;
  }
  return chunks;
}

std::optional<Departure> first_departure(const Graph& a, const Graph& b, const std::vector<Metrics>& metrics,
                                         const Gate& gate, Class accuracy_class) {
  std::vector<Metrics> holding;
  for (const auto& tensor : metrics) {
    if (!tensor.problem.empty()) continue;
    const Report report = judge({tensor}, gate, accuracy_class, 1, false);
    if (!report.passed) return describe(a, b, report.outputs.front(), holding);
    holding.push_back(tensor);
  }
  return std::nullopt;
}

Result<std::optional<Departure>> find_departure(const Model& a, const Model& b, const Gate& gate, Class accuracy_class,
                                                const fs::path& scratch, const RunModel& run) {
  Model left = a.clone(), right = b.clone();
  HONE_TRY(left.infer_shapes());
  HONE_TRY(right.infer_shapes());
  std::vector<Metrics> all;  // of earlier chunks too: the tensors that hold
  for (const auto& names : chunks_of(shared_tensors(left.graph(), right.graph()), kChunkBytes, kChunkTensors)) {
    const fs::path work = scratch / "layerwise";
    HONE_TRY(make_directories(work));
    HONE_TRY(run_with_outputs(left, names, work / "a.onnx", work / "a", Side::kA, run));
    HONE_TRY(run_with_outputs(right, names, work / "b.onnx", work / "b", Side::kB, run));
    auto metrics = HONE_TRY(compare_chunk(work / "a", work / "b", names));
    std::error_code ignored;
    fs::remove_all(work, ignored);
    all.insert(all.end(), metrics.begin(), metrics.end());
    if (auto departure = first_departure(left.graph(), right.graph(), all, gate, accuracy_class)) return departure;
  }
  return std::optional<Departure>();
}

Json Departure::to_json() const {
  Report report;
  report.outputs = {metrics};
  return Json{{"tensor", tensor},
              {"node", node},
              {"rule", rule},
              {"nodes", nodes},
              {"why", metrics.why},
              {"input_relative_max", input_error},
              {"metrics", report.to_json()["outputs"][0]}};
}

std::string Departure::sentence() const {
  return fmt::format("tensor '{}' (node {}): {}; what it is made of differs by {:.3g} at most; {}, nodes: {}", tensor,
                     node, metrics.why, input_error, rule, fmt::join(nodes, ", "));
}

}  // namespace hone::accuracy
