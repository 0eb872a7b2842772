// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "change/rewrite/pattern.h"

namespace hone::change {

using model::Node;
using model::ValueId;

bool same(const KnownDim& a, const KnownDim& b) {
  if (a.is_number || b.is_number) return a.is_number && b.is_number && a.value == b.value;
  return std::any_of(a.names.begin(), a.names.end(),
                     [&](const std::string& name) { return std::binary_search(b.names.begin(), b.names.end(), name); });
}

bool same(const KnownDims& a, const KnownDims& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const KnownDim& x, const KnownDim& y) { return same(x, y); });
}

std::string to_text(const KnownDim& dim) {
  if (dim.is_number) return fmt::format("{}", dim.value);
  if (dim.names.empty()) return "?";
  const std::string& name = dim.names.front();
  return name.starts_with("s:") ? name.substr(2) : name.starts_with("(") ? name : "?";
}

std::string to_text(const KnownDims& dims) {
  std::string out;
  for (const KnownDim& dim : dims) out += (out.empty() ? "" : ",") + to_text(dim);
  return "[" + out + "]";
}

namespace {

struct DepthGuard {
  explicit DepthGuard(int& depth) : depth(depth) { ++depth; }
  ~DepthGuard() { --depth; }
  int& depth;
};

void add_name(KnownDim& dim, std::string name) {
  const auto at = std::lower_bound(dim.names.begin(), dim.names.end(), name);
  if (at == dim.names.end() || *at != name) dim.names.insert(at, std::move(name));
}

// Both facts hold of the same dim.
KnownDim both(const KnownDim& a, const KnownDim& b) {
  if (a.is_number) return a;
  if (b.is_number) return b;
  KnownDim out = a;
  for (const std::string& name : b.names) add_name(out, name);
  return out;
}

}  // namespace

bool is_size(const KnownDim& dim) {
  if (dim.is_number) return dim.value >= 0;
  return std::any_of(dim.names.begin(), dim.names.end(),
                     [](const std::string& name) { return name.starts_with("s:") || name.starts_with("v"); });
}

KnownDim combined(char operation, const KnownDim& a, const KnownDim& b) {
  if (operation == '/' && a.is_number && b.is_number && b.value > 0 && a.value % b.value != 0) return {};
  if (a.is_number && b.is_number) {
    int64_t out = 0;
    const bool overflow = operation == '+'   ? __builtin_add_overflow(a.value, b.value, &out)
                          : operation == '-' ? __builtin_sub_overflow(a.value, b.value, &out)
                          : operation == '*' ? __builtin_mul_overflow(a.value, b.value, &out)
                                             : b.value <= 0 || a.value < 0;
    if (overflow) return {};
    return KnownDim::number(operation == '/' ? a.value / b.value : out);
  }
  if ((operation == '*' || operation == '/') && b.is(1)) return a;
  if (operation == '*' && a.is(1)) return b;
  if ((operation == '+' || operation == '-') && b.is(0)) return a;
  if (operation == '+' && a.is(0)) return b;
  if ((!a.is_number && a.names.empty()) || (!b.is_number && b.names.empty())) return {};
  const auto word = [](const KnownDim& dim) { return dim.is_number ? fmt::format("{}", dim.value) : dim.names.back(); };
  std::string left = word(a), right = word(b);
  if ((operation == '+' || operation == '*') && right < left) std::swap(left, right);
  constexpr size_t kLongest = 200;  // chains of arithmetic must not grow names without end
  if (left.size() + right.size() > kLongest) return {};
  return KnownDim::named(fmt::format("({}{}{})", left, operation, right));
}

namespace {

// The names a symbol stands for: "past + seq" and "seq + past" are the same sum.
KnownDim symbol(const std::string& text) {
  if (text.empty()) return {};
  KnownDim out = KnownDim::named("s:" + text);
  const size_t plus = text.find(" + ");
  if (plus != std::string::npos && text.find_first_of("()*/-%", 0) == std::string::npos &&
      text.find(" + ", plus + 1) == std::string::npos)
    add_name(out, combined('+', symbol(text.substr(0, plus)), symbol(text.substr(plus + 3))).names.front());
  return out;
}

bool keeps_shape(const Node& node) {
  static const std::unordered_set<std::string_view> kStandard = {"Identity",
                                                                 "Cast",
                                                                 "Relu",
                                                                 "Tanh",
                                                                 "Erf",
                                                                 "Sqrt",
                                                                 "Neg",
                                                                 "Exp",
                                                                 "Log",
                                                                 "Abs",
                                                                 "Sin",
                                                                 "Cos",
                                                                 "Sigmoid",
                                                                 "Softmax",
                                                                 "Not",
                                                                 "IsNaN",
                                                                 "IsInf",
                                                                 "Dropout",
                                                                 "Clip",
                                                                 "Reciprocal",
                                                                 "LayerNormalization",
                                                                 "Gelu",
                                                                 "HardSigmoid",
                                                                 "Softplus",
                                                                 "LogSoftmax",
                                                                 "LeakyRelu",
                                                                 "Elu",
                                                                 "RMSNormalization",
                                                                 "Floor",
                                                                 "Ceil",
                                                                 "Round",
                                                                 "Sign",
                                                                 "CumSum",
                                                                 "Trilu",
                                                                 "HardSwish",
                                                                 "Swish",
                                                                 "BatchNormalization",
                                                                 "SimplifiedLayerNormalization",
                                                                 "InstanceNormalization",
                                                                 "RotaryEmbedding",
                                                                 "GroupNormalization"};
  static const std::unordered_set<std::string_view> kMicrosoft = {"Gelu",
                                                                  "FastGelu",
                                                                  "BiasGelu",
                                                                  "QuickGelu",
                                                                  "RotaryEmbedding",
                                                                  "SkipLayerNormalization",
                                                                  "SkipSimplifiedLayerNormalization"};
  return node.domain.empty() ? kStandard.contains(node.op_type)
                             : node.domain == "com.microsoft" && kMicrosoft.contains(node.op_type);
}

bool broadcasts(const Node& node) {
  static const std::unordered_set<std::string_view> kOps = {"Add",
                                                            "Sub",
                                                            "Mul",
                                                            "Div",
                                                            "Pow",
                                                            "Mod",
                                                            "And",
                                                            "Or",
                                                            "Xor",
                                                            "Equal",
                                                            "Less",
                                                            "Max",
                                                            "Min",
                                                            "Sum",
                                                            "Mean",
                                                            "Where",
                                                            "Greater",
                                                            "LessOrEqual",
                                                            "GreaterOrEqual",
                                                            "PRelu"};
  return node.domain.empty() && kOps.contains(node.op_type);
}

// Where outputs other than 0 have the shape of output 0 too (masks, running sums).
bool all_outputs_alike(const Node& node) {
  return node.op_type == "SkipLayerNormalization" || node.op_type == "SkipSimplifiedLayerNormalization";
}

std::optional<int64_t> axis_in(int64_t axis, size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) return std::nullopt;
  return axis < 0 ? axis + limit : axis;
}

}  // namespace

int Dims::rank(ValueId value) {
  const auto dims = shape(value);
  return dims ? static_cast<int>(dims->size()) : -1;
}

KnownDim Dims::dim(ValueId value, int axis) {
  const auto dims = shape(value);
  if (!dims) return {};
  const auto at = axis_in(axis, dims->size());
  return at ? (*dims)[static_cast<size_t>(*at)] : KnownDim{};
}

std::optional<KnownDims> Dims::shape(ValueId value) {
  if (value == model::kNoValue) return std::nullopt;
  const auto known = shapes_.find(value);
  if (known != shapes_.end()) return known->second;
  auto out = compute_shape(value);
  shapes_.insert_or_assign(value, out);
  return out;
}

std::optional<KnownDims> Dims::compute_shape(ValueId id) {
  const model::Value& value = graph_.value(id);
  std::optional<KnownDims> out;
  bool complete = false;
  if (const model::Tensor* tensor = graph_.constant(id)) {
    out.emplace();
    for (const int64_t dim : tensor->dims()) out->push_back(KnownDim::number(dim));
    return out;
  }
  if (value.type.shape) {
    out.emplace();
    // An output's declared symbols are other words for dims that the walk finds.
    complete = !value.is_output;
    for (const model::Dim& dim : *value.type.shape) {
      out->push_back(dim.known() ? KnownDim::number(dim.value) : symbol(dim.symbol));
      // Inference invents "unk__7" where it gives up; the walk below may know better.
      complete = complete && (dim.known() || (!dim.symbol.empty() && !dim.symbol.starts_with("unk__")));
    }
  }
  if (!complete && depth_ < kMaxDepth) {
    const Node* node = graph_.producer(id);
    DepthGuard guard(depth_);
    if (node != nullptr)
      if (const auto walked = structural_shape(*node, value.producer_slot)) {
        if (!out) {
          out = walked;
        } else if (out->size() == walked->size()) {
          for (size_t i = 0; i < out->size(); ++i) (*out)[i] = both((*out)[i], (*walked)[i]);
        }
      }
  }
  if (out)
    for (size_t i = 0; i < out->size(); ++i)
      if (!(*out)[i].is_number && (*out)[i].names.empty()) (*out)[i] = KnownDim::named(fmt::format("v{}:{}", id, i));
  return out;
}

std::optional<KnownDims> Dims::structural_shape(const Node& node, int slot) {
  if (keeps_shape(node)) return slot == 0 || all_outputs_alike(node) ? shape(node.input(0)) : std::nullopt;
  if (broadcasts(node)) return broadcast(node);
  if (slot == 0 && (node.is("Attention") || node.is("MultiHeadAttention", "com.microsoft"))) return attention(node);
  if (!node.domain.empty()) return std::nullopt;
  const std::string& type = node.op_type;
  if (type == "Transpose") return transpose(node);
  if (type == "Reshape") return reshape(node);
  if (type == "MatMul") return matmul(node);
  if (type == "Concat") return concat(node);
  if (type == "Gather") return gather(node);
  if (type == "Slice") return slice(node);
  if (type == "Split") return split(node, slot);
  if (type == "Squeeze") return squeeze(node);
  if (type == "Unsqueeze") return unsqueeze(node);
  if (type.starts_with("Reduce")) return reduce(node);
  if (type == "Expand") return broadcast_shapes(shape(node.input(0)), elements(node.input(1)));
  if (type == "ConstantOfShape") return elements(node.input(0));
  if (type == "Shape") {
    const int r = rank(node.input(0));
    if (r < 0 || node.attribute("start") != nullptr || node.attribute("end") != nullptr) return std::nullopt;
    return KnownDims{KnownDim::number(r)};
  }
  if (type == "Gemm") {
    const KnownDim rows = dim(node.input(0), node.attribute_int("transA", 0) != 0 ? 1 : 0);
    return KnownDims{rows, dim(node.input(1), node.attribute_int("transB", 0) != 0 ? 0 : 1)};
  }
  if (type == "Resize") return resize(node);
  if (type == "Conv" || type == "ConvTranspose" || type == "MaxPool" || type == "AveragePool") {
    // The batch goes through; inference knows the rest when anybody does.
    const auto in = shape(node.input(0));
    if (!in) return std::nullopt;
    KnownDims out(in->size());
    if (!out.empty()) out[0] = (*in)[0];
    return out;
  }
  if (type == "Range") {
    const auto start = elements(node.input(0)), limit = elements(node.input(1)), delta = elements(node.input(2));
    if (!start || !limit || !delta || limit->size() != 1 || !is_size((*limit)[0])) return KnownDims{{}};
    const bool counts = start->size() == 1 && (*start)[0].is(0) && delta->size() == 1 && (*delta)[0].is(1);
    return counts ? KnownDims{(*limit)[0]} : KnownDims{{}};
  }
  return std::nullopt;
}

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

KnownDim Dims::broadcast_dim(const KnownDim& a, const KnownDim& b) const {
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  if (same(a, b)) return both(a, b);
  // A number other than 1 decides: the other is 1 or the same.
  if (a.is_number) return a;
  if (b.is_number) return b;
  return {};
}

std::optional<KnownDims> Dims::broadcast_shapes(const std::optional<KnownDims>& a,
                                                const std::optional<KnownDims>& b) const {
  if (!a || !b) return std::nullopt;
  const KnownDims &longer = a->size() >= b->size() ? *a : *b, &shorter = a->size() >= b->size() ? *b : *a;
  KnownDims out = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    KnownDim& dim = out[longer.size() - shorter.size() + i];
    dim = broadcast_dim(dim, shorter[i]);
  }
  return out;
}

std::optional<KnownDims> Dims::broadcast(const Node& node) {
  std::optional<KnownDims> out = shape(node.input(0));
  for (size_t i = 1; i < node.inputs.size(); ++i) out = broadcast_shapes(out, shape(node.input(i)));
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
