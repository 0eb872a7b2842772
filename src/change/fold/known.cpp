// SPDX-License-Identifier: Apache-2.0
#include "change/fold/known.h"

#include <algorithm>

#include "change/rewrite/pattern.h"

namespace hone::change::fold {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::ValueId;

std::optional<std::vector<int64_t>> Elements::numbers() const {
  std::vector<int64_t> values;
  for (const Element& element : list) {
    if (element.kind != Element::Kind::kNumber) return std::nullopt;
    values.push_back(element.number);
  }
  return values;
}

namespace {

using Known = std::optional<Elements>;

// Shape chains are short; what is deeper or longer than this is no shape.
constexpr int kMaxDepth = 24;
constexpr int64_t kMaxElements = 64;

class Look {
 public:
  explicit Look(const Graph& graph) : graph_(graph) {}

  Known at(ValueId value, int depth) const {
    if (value == kNoValue || depth > kMaxDepth) return std::nullopt;
    if (const model::Tensor* tensor = graph_.constant(value)) return of_constant(*tensor);
    const Node* node = graph_.producer(value);
    if (node == nullptr || !node->domain.empty() || graph_.value(value).producer_slot != 0) return std::nullopt;
    if (node->op_type == "Shape") return of_shape(*node);
    const Known first = at(node->input(0), depth + 1);
    if (node->op_type == "Identity") return first;
    if (node->op_type == "Cast") return of_cast(*node, first);
    if (node->op_type == "Unsqueeze" || node->op_type == "Squeeze" || node->op_type == "Reshape")
      return reranked(value, first);
    if (node->op_type == "Gather") return of_gather(*node, first);
    if (node->op_type == "Slice") return of_slice(*node, first);
    if (node->op_type == "Concat") return of_concat(*node, depth);
    if (node->op_type == "Add" || node->op_type == "Sub" || node->op_type == "Mul" || node->op_type == "Div")
      return of_arithmetic(*node, first, at(node->input(1), depth + 1));
    return std::nullopt;
  }

 private:
  static Known of_constant(const model::Tensor& tensor) {
    if (tensor.rank() > 1 || tensor.count() > kMaxElements || !model::is_integer(tensor.dtype())) return std::nullopt;
    const Result<std::vector<int64_t>> values = tensor.to_int64s();
    if (!values) return std::nullopt;
    Elements elements{tensor.rank() == 0, {}};
    for (const int64_t value : *values) elements.list.push_back(Element::of_number(value));
    return elements;
  }

  Known of_shape(const Node& node) const {
    const ValueId data = node.input(0);
    const int rank = rank_of(graph_, data);
    if (rank < 0) return std::nullopt;
    const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t start = clamped(node.attribute_int("start", 0)), end = clamped(node.attribute_int("end", rank));
    Elements elements;
    for (int64_t axis = start; axis < end; ++axis) {
      const model::Tensor* tensor = graph_.constant(data);
      const int64_t dim = tensor != nullptr ? tensor->dims()[static_cast<size_t>(axis)]
                                            : (*graph_.value(data).type.shape)[static_cast<size_t>(axis)].value;
      elements.list.push_back(dim >= 0 ? Element::of_number(dim)
                                       : Element{Element::Kind::kDim, 0, data, static_cast<int>(axis)});
    }
    return elements;
  }

  static Known of_cast(const Node& node, const Known& data) {
    const auto to = static_cast<model::DType>(node.attribute_int("to", 0));
    if (!data || (to != model::DType::kInt64 && to != model::DType::kInt32)) return std::nullopt;
    for (const Element& element : data->list)
      if (element.kind == Element::Kind::kNumber && element.number != static_cast<int32_t>(element.number))
        return std::nullopt;
    return data;
  }

  // Squeeze, Unsqueeze, Reshape between rank 0 and 1 keep the elements.
  Known reranked(ValueId value, const Known& data) const {
    const int rank = rank_of(graph_, value);
    if (!data || rank < 0 || rank > 1 || (rank == 0 && data->list.size() != 1)) return std::nullopt;
    return Elements{rank == 0, data->list};
  }

  Known of_gather(const Node& node, const Known& data) const {
    const model::Tensor* indices = graph_.constant(node.input(1));
    if (!data || data->is_scalar || indices == nullptr || indices->rank() > 1 || node.attribute_int("axis", 0) > 0)
      return std::nullopt;
    const Result<std::vector<int64_t>> at = indices->to_int64s();
    if (!at) return std::nullopt;
    Elements elements{indices->rank() == 0, {}};
    const auto size = static_cast<int64_t>(data->list.size());
    for (int64_t index : *at) {
      if (index < 0) index += size;
      if (index < 0 || index >= size) return std::nullopt;
      elements.list.push_back(data->list[static_cast<size_t>(index)]);
    }
    return elements;
  }

  Known of_slice(const Node& node, const Known& data) const {
    std::optional<std::vector<int64_t>> starts = node.attribute_ints("starts"), ends = node.attribute_ints("ends");
    if (!starts) starts = int_constants(graph_, node.input(1));
    if (!ends) ends = int_constants(graph_, node.input(2));
    std::optional<std::vector<int64_t>> steps = std::vector<int64_t>{1};
    if (node.input(4) != kNoValue) steps = int_constants(graph_, node.input(4));
    if (!data || data->is_scalar || !starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 ||
        steps->size() != 1 || steps->front() != 1)
      return std::nullopt;
    const auto size = static_cast<int64_t>(data->list.size());
    const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    Elements elements;
    for (int64_t i = clamped(starts->front()); i < clamped(ends->front()); ++i)
      elements.list.push_back(data->list[static_cast<size_t>(i)]);
    return elements;
  }

  Known of_concat(const Node& node, int depth) const {
    Elements elements;
    for (const ValueId input : node.inputs) {
      const Known part = at(input, depth + 1);
      if (part && part->is_scalar) return std::nullopt;
      if (part) {
        elements.list.insert(elements.list.end(), part->list.begin(), part->list.end());
        continue;
      }
      const auto dims = static_dims(graph_, input);
      if (!dims || dims->size() != 1 || dims->front() > kMaxElements) return std::nullopt;
      elements.list.resize(elements.list.size() + static_cast<size_t>(dims->front()));
    }
    return elements;
  }

  static Element combined(const std::string& op, const Element& a, const Element& b) {
    if (a.kind != Element::Kind::kNumber || b.kind != Element::Kind::kNumber) return {};
    // Beyond 32 bits it is no dimension, and int32 arithmetic would wrap.
    constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
    if (std::max(std::abs(a.number), std::abs(b.number)) > kLimit) return {};
    int64_t result = 0;
    if (op == "Add") result = a.number + b.number;
    if (op == "Sub") result = a.number - b.number;
    if (op == "Mul") result = a.number * b.number;
    if (op == "Div") {
      if (b.number == 0) return {};
      result = a.number / b.number;
    }
    return std::abs(result) > kLimit ? Element{} : Element::of_number(result);
  }

  static Known of_arithmetic(const Node& node, const Known& a, const Known& b) {
    if (!a || !b) return std::nullopt;
    const size_t count = std::max(a->list.size(), b->list.size());
    if ((a->list.size() != count && a->list.size() != 1) || (b->list.size() != count && b->list.size() != 1))
      return std::nullopt;
    Elements elements{a->is_scalar && b->is_scalar, {}};
    for (size_t i = 0; i < count; ++i)
      elements.list.push_back(
          combined(node.op_type, a->list[a->list.size() == 1 ? 0 : i], b->list[b->list.size() == 1 ? 0 : i]));
    return elements;
  }

  const Graph& graph_;
};

}  // namespace

std::optional<Elements> known_elements(const Graph& graph, ValueId value) { return Look(graph).at(value, 0); }

}  // namespace hone::change::fold
