// Reshape(x, Concat(Shape(x)[0], 12, -1))   ==>   Reshape(x, [0, 12, -1])
//
// A target that is computed from shapes becomes a constant: numbers where the graph knows them, 0 ("as in x") where the
// target's element i is dim i of x, and -1 for one open element when all others are positive numbers.
//
// Safe for every input: "dim i of x" is proven (the Shape of x itself, or a dim with the same symbol); -1 is never
// paired with a copied dim unless it was in the target already, because a batch of 0 would make it ambiguous. Pays: the
// Shape, Gather, Unsqueeze and Concat nodes before it go; in small decoders they are a third of the nodes. Opset >= 5.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "change/fold/known.h"
#include "change/rewrite/pattern.h"

namespace hone::change::rule {
namespace {

using fold::Element;
using model::Graph;
using model::Node;
using model::NodeId;
using model::ValueId;

// Dim `axis` of a value as the graph knows it; nullptr when its rank is not known or smaller.
const model::Dim* dim_of(const Graph& graph, ValueId value, size_t axis) {
  const model::Type& type = graph.value(value).type;
  return type.kind == model::TypeKind::kTensor && type.shape && axis < type.shape->size() ? &(*type.shape)[axis]
                                                                                          : nullptr;
}

// The element is dim `axis` of x, whatever is fed.
bool copies(const Graph& graph, const Element& element, ValueId x, size_t axis) {
  if (element.of == x && static_cast<size_t>(element.axis) == axis) return true;
  const model::Dim* there = dim_of(graph, element.of, static_cast<size_t>(element.axis));
  const model::Dim* here = dim_of(graph, x, axis);
  return there != nullptr && here != nullptr && !here->symbol.empty() && here->symbol == there->symbol;
}

class FoldReshapeTarget final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"fold-reshape-target",
                                "Reshape(x, a target computed from shapes)",
                                "Reshape(x, a constant of numbers, 0 for dims of x, at most one -1)",
                                "every element is a number, dim i of x at place i, or the only open one",
                                accuracy::Class::kExact,
                                false};
    return kInfo;
  }

  Match match(const Graph& graph, NodeId root) const override {
    const Node& node = graph.node(root);
    if (!node.is("Reshape") || node.inputs.size() < 2 || graph.constant(node.input(1)) != nullptr) return Match::no();
    const auto elements = fold::known_elements(graph, node.input(1));
    if (!elements || elements->is_scalar) return Match::no();
    const bool zero_is_zero = node.attribute_int("allowzero", 0) != 0;
    Match match = Match::yes();
    match.nodes = {root};
    int open = 0, copied = 0, minus_ones = 0;
    for (size_t i = 0; i < elements->list.size(); ++i) {
      const Element& element = elements->list[i];
      double number = -1;
      if (element.kind == Element::Kind::kNumber) {
        number = static_cast<double>(element.number);
        if (number == 0 && zero_is_zero)
          return Match::refused(fmt::format("element {} of the target of {} is 0", i, describe(graph, root)));
        minus_ones += number == -1 ? 1 : 0;
        copied += number == 0 ? 1 : 0;
      } else if (element.kind == Element::Kind::kDim && copies(graph, element, node.input(0), i)) {
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
