// The half of Dims that follows integers (shape arithmetic) and scalars. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "change/rewrite/dims.h"
#include "change/rewrite/pattern.h"

namespace hone::change {

using model::Node;
using model::ValueId;

namespace {

// A shape vector has a handful of elements; longer ones are data (position ids), not shapes.
constexpr int64_t kMostElements = 32;

// Whether two integers are equal, where that is the same in every run.
std::optional<bool> equal(const KnownDim& a, const KnownDim& b) {
  if (a.is_number && b.is_number) return a.value == b.value;
  if (same(a, b)) return true;
  if ((a.is_number && a.value < 0 && is_size(b)) || (b.is_number && b.value < 0 && is_size(a))) return false;
  return std::nullopt;
}

}  // namespace

std::optional<KnownDims> Dims::elements(ValueId value) {
  if (value == model::kNoValue) return std::nullopt;
  const auto known = elements_.find(value);
  if (known != elements_.end()) return known->second;
  auto out = compute_elements(value);
  elements_.insert_or_assign(value, out);
  return out;
}

std::optional<KnownDims> Dims::compute_elements(ValueId id) {
  if (const model::Tensor* tensor = graph_.constant(id)) {
    if (tensor->rank() > 1 || tensor->count() > kMostElements) return std::nullopt;
    const auto ints = tensor->to_int64s();
    if (!ints) return std::nullopt;
    KnownDims out;
    for (const int64_t value : *ints) out.push_back(KnownDim::number(value));
    return out;
  }
  const Node* node = graph_.producer(id);
  if (node == nullptr || !node->domain.empty() || graph_.value(id).producer_slot != 0 || depth_ >= kMaxDepth)
    return std::nullopt;
  ++depth_;
  auto out = structural_elements(*node);
  --depth_;
  if (!out || out->size() > static_cast<size_t>(kMostElements)) return std::nullopt;
  for (size_t i = 0; i < out->size(); ++i)
    if (!(*out)[i].is_number && (*out)[i].names.empty()) (*out)[i] = KnownDim::named(fmt::format("e{}:{}", id, i));
  return out;
}

std::optional<KnownDims> Dims::structural_elements(const Node& node) {
  const std::string& type = node.op_type;
  if (type == "Identity" || type == "Cast" || type == "Unsqueeze" || type == "Squeeze") return elements(node.input(0));
  if (type == "Reshape") return elements(node.input(0));  // the same elements; rank is the reader's business
  if (type == "Shape") return shape_op_elements(node);
  if (type == "Size") return std::nullopt;
  if (type == "Gather") return gather_elements(node);
  if (type == "Slice") return slice_elements(node);
  if (type == "Where") return where_elements(node);
  if (type == "Add" || type == "Sub" || type == "Mul" || type == "Div") return arithmetic_elements(node);
  if (type == "Concat") {
    KnownDims out;
    for (const ValueId input : node.inputs) {
      const auto part = elements(input);
      if (!part) return std::nullopt;
      out.insert(out.end(), part->begin(), part->end());
    }
    return out;
  }
  if (type == "ConstantOfShape") {
    const auto count = elements(node.input(0));
    if (!count || count->size() > 1 || (count->size() == 1 && !(*count)[0].is_number)) return std::nullopt;
    const int64_t length = count->empty() ? 1 : (*count)[0].value;
    const auto* tensor = std::get_if<model::Tensor>(node.attribute("value") ? node.attribute("value") : nullptr);
    int64_t fill = 0;
    if (tensor != nullptr) {
      const auto ints = tensor->to_int64s();
      if (!ints || ints->size() != 1) return std::nullopt;
      fill = (*ints)[0];
    }
    if (length < 0 || length > kMostElements) return std::nullopt;
    return KnownDims(static_cast<size_t>(length), KnownDim::number(fill));
  }
  return std::nullopt;
}

std::optional<KnownDims> Dims::shape_op_elements(const Node& node) {
  const auto dims = shape(node.input(0));
  if (!dims) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(node.attribute_int("start", 0)), end = clamp(node.attribute_int("end", rank));
  if (start >= end) return KnownDims{};
  return KnownDims(dims->begin() + start, dims->begin() + end);
}

std::optional<KnownDims> Dims::gather_elements(const Node& node) {
  const auto data = elements(node.input(0)), indices = elements(node.input(1));
  if (!data || !indices) return std::nullopt;
  KnownDims out;
  for (const KnownDim& index : *indices) {
    if (!index.is_number) return std::nullopt;
    const int64_t at = index.value < 0 ? index.value + static_cast<int64_t>(data->size()) : index.value;
    if (at < 0 || at >= static_cast<int64_t>(data->size())) return std::nullopt;
    out.push_back((*data)[static_cast<size_t>(at)]);
  }
  return out;
}

std::optional<KnownDims> Dims::slice_elements(const Node& node) {
  const auto data = elements(node.input(0));
  const auto bound = [&](size_t slot, std::string_view key) -> std::optional<int64_t> {
    auto list = node.attribute_ints(key);
    if (!list && node.input(slot) != model::kNoValue) list = int_constants(graph_, node.input(slot));
    return list && list->size() == 1 ? std::optional((*list)[0]) : std::nullopt;
  };
  const auto start = bound(1, "starts"), end = bound(2, "ends"), step = bound(4, "steps");
  if (!data || !start || !end || (node.input(4) != model::kNoValue && step != 1)) return std::nullopt;
  const auto size = static_cast<int64_t>(data->size());
  const auto clamp = [&](int64_t at) { return at < 0 ? std::max<int64_t>(0, at + size) : std::min(at, size); };
  const int64_t from = *start < -size ? 0 : clamp(*start), to = *end < -size ? 0 : clamp(*end);
  if (from >= to) return KnownDims{};
  return KnownDims(data->begin() + from, data->begin() + to);
}

// Where(Equal(target, -1), 1, target): how exporters write Expand's "-1 keeps the dim".
std::optional<KnownDims> Dims::where_elements(const Node& node) {
  const Node* condition = node.input(0) == model::kNoValue ? nullptr : graph_.producer(node.input(0));
  if (condition == nullptr || !condition->is("Equal")) return std::nullopt;
  const auto left = elements(condition->input(0)), right = elements(condition->input(1));
  const auto yes = elements(node.input(1)), no = elements(node.input(2));
  if (!left || !right || !yes || !no) return std::nullopt;
  const size_t count = std::max({left->size(), right->size(), yes->size(), no->size()});
  KnownDims out;
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](const KnownDims& list) {
      return list.size() == 1 ? list[0] : i < list.size() ? list[i] : KnownDim{};
    };
    const auto chosen = equal(at(*left), at(*right));
    out.push_back(chosen ? at(*chosen ? *yes : *no) : KnownDim{});
  }
  return out;
}

std::optional<KnownDims> Dims::arithmetic_elements(const Node& node) {
  const auto a = elements(node.input(0)), b = elements(node.input(1));
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  const size_t count = std::max(a->size(), b->size());
  if ((a->size() != count && a->size() != 1) || (b->size() != count && b->size() != 1)) return std::nullopt;
  const char operation = node.op_type == "Add" ? '+' : node.op_type == "Sub" ? '-' : node.op_type == "Mul" ? '*' : '/';
  KnownDims out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(combined(operation, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
  return out;
}

std::optional<double> Dims::number(ValueId value) {
  if (value == model::kNoValue || depth_ >= kMaxDepth) return std::nullopt;
  if (const auto constant = scalar_constant(graph_, value)) return constant;
  ++depth_;
  const auto out = compute_number(value);
  --depth_;
  return out;
}

std::optional<double> Dims::compute_number(ValueId value) {
  const Node* node = graph_.producer(value);
  if (node == nullptr || !node->domain.empty() || graph_.value(value).producer_slot != 0) return std::nullopt;
  const std::string& type = node->op_type;
  if (type == "Shape" || type == "Gather" || type == "Slice") {
    const auto list = elements(value);
    return list && list->size() == 1 && (*list)[0].is_number ? std::optional<double>((*list)[0].value) : std::nullopt;
  }
  if (type == "Cast") {
    const auto to = static_cast<model::DType>(node->attribute_int("to", 0));
    const auto in = number(node->input(0));
    return in && (model::is_floating(to) || *in == std::trunc(*in)) ? in : std::nullopt;
  }
  if (type == "Identity" || type == "Unsqueeze" || type == "Squeeze" || type == "Reshape")
    return number(node->input(0));
  if (type == "Sqrt" || type == "Reciprocal" || type == "Neg") {
    const auto in = number(node->input(0));
    if (!in) return std::nullopt;
    return type == "Sqrt" ? std::sqrt(*in) : type == "Neg" ? -*in : 1 / *in;
  }
  if (type == "Mul" || type == "Div" || type == "Pow" || type == "Add" || type == "Sub") {
    const auto a = number(node->input(0)), b = number(node->input(1));
    if (!a || !b) return std::nullopt;
    // Integer division truncates; heads and sizes that divide evenly are the same either way, the rest is refused.
    if (type == "Div" && model::is_integer(dtype_of_value(graph_, value)) && std::fmod(*a, *b) != 0)
      return std::nullopt;
    return type == "Mul"   ? *a * *b
           : type == "Div" ? *a / *b
           : type == "Pow" ? std::pow(*a, *b)
           : type == "Add" ? *a + *b
                           : *a - *b;
  }
  return std::nullopt;
}

}  // namespace hone::change
