// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

}  // namespace

KnownDim Dims::both(const KnownDim& a, const KnownDim& b) {
  if (a.is_number) return a;
  if (b.is_number) return b;
  KnownDim out = a;
  for (const std::string& name : b.names) add_name(out, name);
  return out;
}

std::optional<int64_t> Dims::axis_in(int64_t axis, size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) return std::nullopt;
  return axis < 0 ? axis + limit : axis;
}

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

}  // namespace hone::change
