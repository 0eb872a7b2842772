// Add(2, 3), Shape(x: [N, 3]) -> Gather 1, Constant   ==>   an initializer   [if nothing of it depends on the input]
//
// Nodes whose inputs are all constants (fold/evaluate.h), elements of shapes that are numbers in the graph
// (rewrite/dims.h), and Constant nodes, which are initializers in another form.
//
// Safe: only operators with one right answer bit by bit; a dim counts as a number only when the graph says so for every
// input, so an open batch stays open. A fold never makes the model larger than max(64 KiB, 2 x the inputs it replaces),
// and never touches a graph output. Pays: shape arithmetic is many tiny nodes, and other rules need to see the
// constants. All opsets. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "change/fold/evaluate.h"
#include "change/rewrite/dims.h"
#include "change/rewrite/facts.h"
#include "change/rewrite/rule.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::Tensor;
using model::ValueId;

// A result under this size is folded whatever its inputs were: it costs nothing to store. Above, it may not double
// them.
constexpr size_t kAlwaysSmall = 64 * 1024;
constexpr size_t kGrowth = 2;

class FoldConstants final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fold-constants",
                                "a node of constants; elements of Shape that are numbers; Constant",
                                "an initializer",
                                "the operator has one right answer, and the model does not grow",
                                "constant_shape_arithmetic",
                                accuracy::Class::kExact,
                                true};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& node = graph.node(root);
    if (!node.domain.empty()) return Match::no();
    if (node.op_type == "Constant") return constant_node(graph, root);
    std::vector<Tensor> results;
    std::string why;
    if (all_constant(graph, node)) {
      fold::Outcome outcome = evaluated(graph, node);
      results = std::move(outcome.outputs);
      why = std::move(outcome.why);
    }
    if (results.empty()) {
      std::optional<Tensor> shape = known_shape(graph, node);
      if (shape) results = {std::move(*shape)};
    }
    if (results.empty()) return why.empty() ? Match::no() : Match::refused(describe(graph, root) + ": " + why);
    return replacement(graph, root, std::move(results));
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const std::vector<ValueId> outputs = graph.node(match.nodes[0]).outputs;
    for (size_t slot = 0; slot < outputs.size(); ++slot) {
      if (outputs[slot] == kNoValue) continue;
      const ValueId constant = graph.add_constant(graph.value(outputs[slot]).name, match.tensors[slot]);
      HONE_CHECK(graph.replace_uses(outputs[slot], constant));
    }
    graph.remove_node(match.nodes[0]);
  }

 private:
  static Match constant_node(const Graph& graph, NodeId root) {
    const Tensor* tensor = graph.constant(graph.node(root).output(0));
    if (tensor == nullptr || graph.value(graph.node(root).output(0)).is_output) return Match::no();
    return replacement(graph, root, {*tensor});
  }

  static Match replacement(const Graph& graph, NodeId root, std::vector<Tensor> results) {
    const Node& node = graph.node(root);
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const ValueId output = node.outputs[slot];
      if (output == kNoValue) continue;
      if (slot >= results.size()) return Match::no();
      if (graph.value(output).is_output)
        return Match::refused(
            fmt::format("{} makes the graph output '{}'", describe(graph, root), graph.value(output).name));
    }
    Match match = Match::yes();
    match.nodes = {root};
    match.tensors = std::move(results);
    return match;
  }

  static bool all_constant(const Graph& graph, const Node& node) {
    return fold::can_evaluate(node) && !node.inputs.empty() &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return input == kNoValue || graph.constant(input) != nullptr; });
  }

  static fold::Outcome evaluated(const Graph& graph, const Node& node) {
    fold::Call call{node, graph.opset(), {}, 0};
    size_t bytes = 0;
    for (const ValueId input : node.inputs) {
      call.inputs.push_back(input == kNoValue ? nullptr : graph.constant(input));
      if (call.inputs.back() != nullptr) bytes += call.inputs.back()->byte_size();
    }
    call.max_bytes = std::max(kAlwaysSmall, kGrowth * bytes);
    return fold::evaluate(call);
  }

  static std::optional<Tensor> known_shape(const Graph& graph, const Node& node) {
    if (node.outputs.size() != 1) return std::nullopt;
    const model::DType dtype = dtype_of_value(graph, node.output(0));
    const bool wide = dtype == model::DType::kInt64;
    if (!wide && dtype != model::DType::kInt32) return std::nullopt;
    const int rank = rank_of(graph, node.output(0));
    if (rank != 0 && rank != 1) return std::nullopt;
    const std::optional<KnownDims> elements = Dims(graph).elements(node.output(0));
    if (!elements || (rank == 0 && elements->size() != 1)) return std::nullopt;
    std::vector<int64_t> numbers;
    for (const KnownDim& element : *elements) {
      if (!element.is_number || (!wide && element.value != static_cast<int32_t>(element.value))) return std::nullopt;
      numbers.push_back(element.value);
    }
    const std::vector<int64_t> dims(static_cast<size_t>(rank), static_cast<int64_t>(numbers.size()));
    if (wide) return Tensor::of<int64_t>(dims, numbers);
    return Tensor::of<int32_t>(dims, std::vector<int32_t>(numbers.begin(), numbers.end()));
  }
};

}  // namespace

const Rule& fold_constants() {
  static const FoldConstants kRule;
  return kRule;
}

}  // namespace hone::change::rule
