// Reshape(x, Concat(Shape(x)[0], 12, -1))   ==>   Reshape(x, [0, 12, -1])
//
// A target that is computed from shapes becomes a constant: numbers where the graph knows them, 0 ("as in x") where the
// target's element i is dim i of x, and -1 for one open element when all others are positive numbers.
//
// Safe for every input: "dim i of x" is proven (rewrite/dims.h: the same symbol, or the Shape of x itself); -1 is never
// paired with a copied dim unless it was in the target already, because a batch of 0 would make it ambiguous. Pays: the
// Shape, Gather, Unsqueeze and Concat nodes before it go; in small decoders they are a third of the nodes. Opset >= 5.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "change/rewrite/dims.h"
#include "change/rewrite/facts.h"
#include "change/rewrite/rule.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;
using model::ValueId;

class FoldReshapeTarget final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fold-reshape-target",
                                "Reshape(x, a target computed from shapes)",
                                "Reshape(x, a constant of numbers, 0 for dims of x, at most one -1)",
                                "every element is a number, dim i of x at place i, or the only open one",
                                "constant_shape_arithmetic",
                                accuracy::Class::kExact,
                                false};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& node = graph.node(root);
    if (!node.is("Reshape") || node.inputs.size() < 2 || graph.constant(node.input(1)) != nullptr) return Match::no();
    Dims dims(graph);
    const std::optional<KnownDims> elements = dims.elements(node.input(1));
    if (!elements) return Match::no();
    const std::optional<KnownDims> data = dims.shape(node.input(0));
    const bool zero_is_zero = node.attribute_int("allowzero", 0) != 0;
    Match match = Match::yes();
    match.nodes = {root};
    int open = 0, copied = 0, minus_ones = 0;
    for (size_t i = 0; i < elements->size(); ++i) {
      const KnownDim& element = (*elements)[i];
      double number = -1;
      if (element.is_number) {
        number = static_cast<double>(element.value);
        if (number == 0 && zero_is_zero)
          return Match::refused(fmt::format("element {} of the target of {} is 0", i, describe(graph, root)));
        minus_ones += number == -1 ? 1 : 0;
        copied += number == 0 ? 1 : 0;
      } else if (data && i < data->size() && same(element, (*data)[i])) {
        number = 0;
        ++copied;
      } else {
        ++open;
      }
      match.numbers.push_back(number);
    }
    if (open > 1 || (open == 1 && (copied > 0 || minus_ones > 0)))
      return Match::refused(fmt::format("{} elements of the target of {} are neither numbers nor dims of its data",
                                        open, describe(graph, root)));
    return match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    const std::vector<int64_t> target(match.numbers.begin(), match.numbers.end());
    const ValueId constant =
        graph.add_constant("shape", model::Tensor::of<int64_t>({static_cast<int64_t>(target.size())}, target));
    graph.remove_attribute(match.nodes[0], "allowzero");
    graph.set_input(match.nodes[0], 1, constant);
  }
};

}  // namespace

const Rule& fold_reshape_target() {
  static const FoldReshapeTarget kRule;
  return kRule;
}

}  // namespace hone::change::rule
