// How each operator makes the dims of its output. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "change/rewrite/dims.h"
#include "change/rewrite/pattern.h"

namespace hone::change {

using model::Node;
using model::ValueId;

// Rows of the queries, columns of the values.
std::optional<KnownDims> Dims::attention(const Node& node) {
  auto out = shape(node.input(0));
  const auto value = shape(node.input(2));
  if (!out || !value || value->size() < 3) return std::nullopt;
  if (out->size() == 4) {
    out->back() = value->back();
  } else {
    // [B,S,N·D] queries; values merged too, or by heads.
    const bool multi_head = node.is("MultiHeadAttention", "com.microsoft");
    const KnownDim heads = KnownDim::number(node.attribute_int(multi_head ? "num_heads" : "q_num_heads", 1));
    const KnownDim key_heads = multi_head ? heads : KnownDim::number(node.attribute_int("kv_num_heads", 1));
    const KnownDim size = value->size() == 4 ? value->back() : combined('/', value->back(), key_heads);
    out->back() = value->size() == 3 && same(heads, key_heads) ? value->back() : combined('*', size, heads);
  }
  return out;
}

std::optional<KnownDims> Dims::resize(const Node& node) {
  auto out = shape(node.input(0));
  if (!out || node.attribute("axes") != nullptr) return std::nullopt;
  if (node.input(3) != model::kNoValue) return elements(node.input(3));
  const size_t slot = node.inputs.size() == 2 ? 1 : 2;  // opset 10 has no region of interest
  const model::Tensor* scales = node.input(slot) == model::kNoValue ? nullptr : graph_.constant(node.input(slot));
  const auto factors = scales != nullptr ? scales->to_doubles() : Result<std::vector<double>>(std::vector<double>{});
  for (size_t i = 0; i < out->size(); ++i)
    if (!factors || i >= factors->size() || (*factors)[i] != 1) (*out)[i] = {};
  return out;
}

std::optional<KnownDims> Dims::transpose(const Node& node) {
  const auto in = shape(node.input(0));
  auto perm = node.attribute_ints("perm");
  if (!perm && in) {
    perm.emplace(in->size());
    for (size_t i = 0; i < in->size(); ++i) (*perm)[i] = static_cast<int64_t>(in->size() - 1 - i);
  }
  if (!perm) return std::nullopt;
  KnownDims out(perm->size());
  if (!in || in->size() != perm->size()) return out;
  for (size_t i = 0; i < out.size(); ++i)
    if (const auto axis = axis_in((*perm)[i], in->size())) out[i] = (*in)[static_cast<size_t>(*axis)];
  return out;
}

// The -1 of a Reshape: what is left of the input's elements after the target's other dims, factor by factor. What does
// not cancel stays in the name, so that two Reshapes of the same kind are seen to agree.
static KnownDim left_over(const KnownDims& in, const KnownDims& target) {
  KnownDims rest = in, divisors;
  int64_t above = 1, below = 1;
  for (const KnownDim& dim : target) {
    if (dim.is(-1)) continue;
    const auto same_dim = std::find_if(rest.begin(), rest.end(), [&](const KnownDim& r) { return same(r, dim); });
    if (same_dim != rest.end()) {
      rest.erase(same_dim);
    } else if (!dim.is_number) {
      divisors.push_back(dim);
    } else if (dim.value <= 0 || __builtin_mul_overflow(below, dim.value, &below)) {
      return {};
    }
  }
  KnownDims named;
  for (const KnownDim& dim : rest) {
    if (!dim.is_number) {
      named.push_back(dim);
    } else if (__builtin_mul_overflow(above, dim.value, &above)) {
      return {};
    }
  }
  KnownDim out = KnownDim::number(above % below == 0 ? above / below : above);
  for (const KnownDim& dim : named) out = combined('*', out, dim);
  if (above % below != 0) out = combined('/', out, KnownDim::number(below));
  for (const KnownDim& dim : divisors) out = combined('/', out, dim);
  return out;
}

std::optional<KnownDims> Dims::reshape(const Node& node) {
  auto target = elements(node.input(1));
  if (const auto attribute = node.attribute_ints("shape"); attribute && !target) {  // opset < 5
    target.emplace();
    for (const int64_t dim : *attribute) target->push_back(KnownDim::number(dim));
  }
  if (!target) return std::nullopt;
  const auto in = shape(node.input(0));
  KnownDims out = *target;
  const bool zero_copies = node.attribute_int("allowzero", 0) == 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (zero_copies && out[i].is(0)) out[i] = in && i < in->size() ? (*in)[i] : KnownDim{};
  for (KnownDim& dim : out) {
    // A target that is not proven to be a size may be 0 or -1 at run time.
    if (!dim.is(-1) && !is_size(dim)) dim = {};
  }
  for (KnownDim& dim : out)
    if (dim.is(-1)) dim = in ? left_over(*in, out) : KnownDim{};
  return out;
}

std::optional<KnownDims> Dims::matmul(const Node& node) {
  const auto a = shape(node.input(0)), b = shape(node.input(1));
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  auto out = broadcast_shapes(KnownDims(a->begin(), a->end() - 2), KnownDims(b->begin(), b->end() - 2));
  out->push_back(a->end()[-2]);
  out->push_back(b->back());
  return out;
}

std::optional<KnownDims> Dims::concat(const Node& node) {
  std::optional<KnownDims> out;
  for (const ValueId input : node.inputs) {
    const auto next = shape(input);
    if (!next) return std::nullopt;
    if (!out) {
      out = next;
      continue;
    }
    const auto axis = axis_in(node.attribute_int("axis", 0), out->size());
    if (next->size() != out->size() || !axis) return std::nullopt;
    for (size_t i = 0; i < out->size(); ++i)
      (*out)[i] = static_cast<int64_t>(i) == *axis ? combined('+', (*out)[i], (*next)[i]) : both((*out)[i], (*next)[i]);
  }
  return out;
}

std::optional<KnownDims> Dims::gather(const Node& node) {
  const auto data = shape(node.input(0)), indices = shape(node.input(1));
  if (!data || !indices) return std::nullopt;
  const auto axis = axis_in(node.attribute_int("axis", 0), data->size());
  if (!axis) return std::nullopt;
  KnownDims out(data->begin(), data->begin() + *axis);
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), data->begin() + *axis + 1, data->end());
  return out;
}

std::optional<KnownDims> Dims::slice(const Node& node) {
  auto out = shape(node.input(0));
  if (!out) return std::nullopt;
  const auto ints = [&](size_t slot, std::string_view key) {
    auto list = node.attribute_ints(key);  // opset < 10
    if (!list && node.input(slot) != model::kNoValue) list = int_constants(graph_, node.input(slot));
    return list;
  };
  const auto starts = ints(1, "starts"), ends = ints(2, "ends"), steps = ints(4, "steps");
  auto axes = ints(3, "axes");
  const bool axes_given = node.input(3) != model::kNoValue || node.attribute("axes") != nullptr;
  if (!axes && axes_given) return std::nullopt;
  const size_t count = axes ? axes->size() : out->size();
  for (size_t i = 0; i < count; ++i) {
    const auto axis = axis_in(axes ? (*axes)[i] : static_cast<int64_t>(i), out->size());
    if (!axis) return std::nullopt;
    KnownDim& dim = (*out)[static_cast<size_t>(*axis)];
    const bool step_one = steps ? (*steps)[i] == 1 : node.input(4) == model::kNoValue;
    const bool known = starts && ends && step_one && i < starts->size() && i < ends->size();
    if (!known || (*starts)[i] < 0) {
      dim = {};
    } else if ((*ends)[i] >= std::numeric_limits<int32_t>::max()) {
      if ((*starts)[i] != 0)
        dim = dim.is_number ? KnownDim::number(std::max<int64_t>(0, dim.value - (*starts)[i])) : KnownDim{};
    } else if (dim.is_number) {
      const int64_t end = (*ends)[i] < 0 ? (*ends)[i] + dim.value : (*ends)[i];
      dim = KnownDim::number(std::max<int64_t>(0, std::min(end, dim.value) - std::min((*starts)[i], dim.value)));
    } else {
      dim = {};
    }
  }
  return out;
}

std::optional<KnownDims> Dims::split(const Node& node, int slot) {
  auto out = shape(node.input(0));
  const auto axis = out ? axis_in(node.attribute_int("axis", 0), out->size()) : std::nullopt;
  if (!axis) return std::nullopt;
  KnownDim& dim = (*out)[static_cast<size_t>(*axis)];
  auto sizes = node.attribute_ints("split");  // opset < 13
  if (!sizes && node.input(1) != model::kNoValue) sizes = int_constants(graph_, node.input(1));
  const auto parts = static_cast<int64_t>(node.outputs.size());
  if (sizes && static_cast<size_t>(slot) < sizes->size()) {
    dim = KnownDim::number((*sizes)[static_cast<size_t>(slot)]);
  } else if (node.input(1) == model::kNoValue && dim.is_number && dim.value % parts == 0) {
    dim = KnownDim::number(dim.value / parts);
  } else {
    dim = {};
  }
  return out;
}

static std::optional<std::vector<int64_t>> axes_of(const model::Graph& graph, const Node& node) {
  auto axes = node.attribute_ints("axes");
  if (!axes && node.input(1) != model::kNoValue) axes = int_constants(graph, node.input(1));
  return axes;
}

std::optional<KnownDims> Dims::squeeze(const Node& node) {
  const auto in = shape(node.input(0));
  const auto axes = axes_of(graph_, node);
  if (!in || !axes) return std::nullopt;
  KnownDims out;
  for (size_t i = 0; i < in->size(); ++i) {
    const bool gone = std::any_of(axes->begin(), axes->end(),
                                  [&](int64_t axis) { return axis_in(axis, in->size()) == static_cast<int64_t>(i); });
    if (!gone) out.push_back((*in)[i]);
  }
  return out;
}

std::optional<KnownDims> Dims::unsqueeze(const Node& node) {
  const auto in = shape(node.input(0));
  const auto axes = axes_of(graph_, node);
  if (!in || !axes) return std::nullopt;
  const size_t rank = in->size() + axes->size();
  KnownDims out;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    const bool added = std::any_of(axes->begin(), axes->end(),
                                   [&](int64_t axis) { return axis_in(axis, rank) == static_cast<int64_t>(i); });
    if (!added && next >= in->size()) return std::nullopt;
    out.push_back(added ? KnownDim::number(1) : (*in)[next++]);
  }
  return out;
}

std::optional<KnownDims> Dims::reduce(const Node& node) {
  auto out = shape(node.input(0));
  const auto axes = axes_of(graph_, node);
  if (!out || !axes || axes->empty()) return std::nullopt;
  for (const int64_t axis : *axes) {
    const auto at = axis_in(axis, out->size());
    if (!at) return std::nullopt;
    (*out)[static_cast<size_t>(*at)] = KnownDim::number(1);
  }
  if (node.attribute_int("keepdims", 1) != 0) return out;
  std::vector<bool> gone(out->size(), false);
  for (const int64_t axis : *axes) gone[static_cast<size_t>(*axis_in(axis, out->size()))] = true;
  KnownDims kept;
  for (size_t i = 0; i < out->size(); ++i)
    if (!gone[i]) kept.push_back((*out)[i]);
  return kept;
}

}  // namespace hone::change
