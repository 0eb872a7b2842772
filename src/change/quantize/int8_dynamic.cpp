// SPDX-License-Identifier: Apache-2.0
#include "change/quantize/int8_dynamic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "change/change.h"

namespace hone::change {

namespace {

using model::DType;
using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::Tensor;
using model::ValueId;

bool is_transposed(const Node& node) { return node.op_type == "Gemm" && node.attribute_int("transB", 0) != 0; }

struct Weight {
  Tensor q;                  // int8 [K, N]
  std::vector<float> scale;  // [N]
};

// Quantizes W, given as [K,N] or, when `transposed`, as [N,K], per output channel n.
Weight quantize_weight(const Tensor& tensor, bool transposed, int limit) {
  const int64_t k_size = tensor.dims()[transposed ? 1 : 0], n_size = tensor.dims()[transposed ? 0 : 1];
  const std::vector<float> w = tensor.values<float>();
  const int64_t k_step = transposed ? 1 : n_size, n_step = transposed ? k_size : 1;
  auto at = [&](int64_t k, int64_t n) { return w[static_cast<size_t>(k * k_step + n * n_step)]; };
  Weight out;
  out.scale.assign(static_cast<size_t>(n_size), 0.0f);
  for (int64_t k = 0; k < k_size; ++k)
    for (int64_t n = 0; n < n_size; ++n) {
      float& scale = out.scale[static_cast<size_t>(n)];
      scale = std::max(scale, std::fabs(at(k, n)));
    }
  for (float& scale : out.scale) scale = std::max(scale, 1e-8f) / static_cast<float>(limit);
  std::span<std::byte> bytes;
  out.q = Tensor::make(DType::kInt8, {k_size, n_size}, &bytes);
  auto* q = reinterpret_cast<int8_t*>(bytes.data());
  for (int64_t k = 0; k < k_size; ++k)
    for (int64_t n = 0; n < n_size; ++n) {
      const auto rounded = static_cast<int>(std::nearbyint(at(k, n) / out.scale[static_cast<size_t>(n)]));
      q[k * n_size + n] = static_cast<int8_t>(std::clamp(rounded, -limit, limit));
    }
  return out;
}

// Why a MatMul or Gemm can't be quantized; empty when it can.
std::string obstacle(const Graph& graph, const Node& node, const Tensor& weight, const QuantizeOptions& options) {
  if (weight.dtype() != DType::kFloat) return "the weight is " + model::dtype_name(weight.dtype()) + ", not float32";
  if (weight.rank() != 2) return fmt::format("the weight has rank {}, not 2", weight.rank());
  if (weight.count() < options.least_elements)
    return fmt::format("{} weights; below {} quantizing costs more than it gains", weight.count(),
                       options.least_elements);
  if (node.op_type == "Gemm") {
    if (node.attribute_int("transA", 0) != 0) return "Gemm with transA";
    if (node.attribute_float("alpha", 1) != 1 || (node.input(2) != kNoValue && node.attribute_float("beta", 1) != 1))
      return "Gemm with alpha or beta other than 1";
  }
  for (float value : weight.values<float>())
    if (!std::isfinite(value)) return "the weight holds NaN or infinity";
  const DType dtype = graph.value(node.inputs[0]).type.dtype;
  if (dtype != DType::kUndefined && dtype != DType::kFloat) return "the activation is not float32";
  return {};
}

struct QuantizedInput {
  ValueId q = kNoValue, scale = kNoValue, zero_point = kNoValue;
};

class Quantizer {
 public:
  Quantizer(Graph& graph, int limit) : graph_(graph), limit_(limit) {}

  void layer(NodeId id) {
    const Node node = graph_.node(id);  // a copy: the graph changes below
    const ValueId y = node.outputs[0];
    const std::string name = graph_.value(y).name;
    const model::Type type = graph_.value(y).type;
    const QuantizedInput x = quantized_input(node.inputs[0]);
    const auto [wq, ws] = quantized_weight(node.inputs[1], is_transposed(node));
    const ValueId integer = graph_.add_value(name + "_int32", model::Type::tensor(DType::kInt32, type.shape));
    const ValueId real = graph_.add_value(name + "_float", type);
    const ValueId scale = graph_.add_value(name + "_scale", model::Type::tensor(DType::kFloat));
    const ValueId bias = node.input(2);
    ValueId result = graph_.add_value(name + "_product", type);
    graph_.add_node({"MatMulInteger", {x.q, wq, x.zero_point}, {integer}});
    graph_.add_node({"Cast", {integer}, {real}, {{"to", static_cast<int64_t>(DType::kFloat)}}});
    graph_.add_node({"Mul", {x.scale, ws}, {scale}});
    graph_.add_node({"Mul", {real, scale}, {result}});
    if (bias != kNoValue) {
      const ValueId product = result;
      result = graph_.add_value(name + "_biased", type);
      graph_.add_node({"Add", {product, bias}, {result}});
    }
    graph_.remove_node(id);
    if (!graph_.replace_uses(y, result)) graph_.add_node({"Identity", {result}, {y}});
  }

 private:
  // One DynamicQuantizeLinear per activation, however many layers read it.
  QuantizedInput quantized_input(ValueId x) {
    QuantizedInput& found = inputs_[x];
    if (found.q != kNoValue) return found;
    const std::string name = graph_.value(x).name;
    const auto shape = graph_.value(x).type.shape;
    found.q = graph_.add_value(name + "_q", model::Type::tensor(DType::kUint8, shape));
    found.scale = graph_.add_value(name + "_q_scale", model::Type::tensor(DType::kFloat, model::Shape{}));
    found.zero_point = graph_.add_value(name + "_q_zero_point", model::Type::tensor(DType::kUint8, model::Shape{}));
    graph_.add_node({"DynamicQuantizeLinear", {x}, {found.q, found.scale, found.zero_point}});
    return found;
  }

  std::pair<ValueId, ValueId> quantized_weight(ValueId w, bool transposed) {
    auto [found, fresh] = weights_.try_emplace({w, transposed});
    if (!fresh) return found->second;
    const std::string name = graph_.value(w).name;
    Weight weight = quantize_weight(*graph_.constant(w), transposed, limit_);
    const auto n = static_cast<int64_t>(weight.scale.size());
    found->second = {graph_.add_constant(name + "_q", std::move(weight.q)),
                     graph_.add_constant(name + "_q_scale", Tensor::of<float>({n}, weight.scale))};
    return found->second;
  }

  Graph& graph_;
  int limit_;
  std::map<ValueId, QuantizedInput> inputs_;
  std::map<std::pair<ValueId, bool>, std::pair<ValueId, ValueId>> weights_;
};

}  // namespace

std::vector<QuantizedLayer> quantize_int8_dynamic(Graph& graph, const QuantizeOptions& options) {
  std::vector<QuantizedLayer> layers;
  std::vector<std::pair<NodeId, size_t>> chosen;  // node, index into layers
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!node.is("MatMul") && !node.is("Gemm")) continue;
    const Tensor* weight = graph.constant(node.input(1));
    if (weight == nullptr) continue;
    QuantizedLayer layer{node.label(graph), 0, 0, false, obstacle(graph, node, *weight, options)};
    layer.quantized = layer.why.empty();
    if (weight->rank() == 2) {
      layer.k = weight->dims()[is_transposed(node) ? 1 : 0];
      layer.n = weight->dims()[is_transposed(node) ? 0 : 1];
    }
    if (layer.quantized) chosen.emplace_back(id, layers.size());
    layers.push_back(std::move(layer));
  }
  if (options.skip_last && chosen.size() > 1) {
    QuantizedLayer& last = layers[chosen.back().second];
    last.quantized = false;
    last.why = "the last layer stays float";
    chosen.pop_back();
  }
  Quantizer quantizer(graph, options.seven_bit ? 63 : 127);
  for (const auto& [id, index] : chosen) quantizer.layer(id);
  if (!chosen.empty()) graph.remove_unused_values();
  return layers;
}

namespace {

// DynamicQuantizeLinear came with this opset.
constexpr int64_t kLeastOpset = 11;

class Int8Dynamic final : public Change {
 public:
  const ChangeInfo& info() const override {
    static const ChangeInfo info{"int8-dynamic",
                                 Kind::kQuantize,
                                 accuracy::Class::kLossy,
                                 "float32 MatMul/Gemm weights -> int8 per channel, activations quantized at run time",
                                 {"matmul_weights_float", "weight_bandwidth_bound"}};
    return info;
  }

  std::vector<Proposal> propose(const Context& context, std::string* why_not) const override {
    if (context.model.opset() < kLeastOpset) {
      *why_not = fmt::format("opset {}; DynamicQuantizeLinear came with opset {}", context.model.opset(), kLeastOpset);
      return {};
    }
    model::Model copy = context.model.clone();
    const auto layers = quantize_int8_dynamic(copy.graph(), {});
    const auto count = std::count_if(layers.begin(), layers.end(), [](const auto& l) { return l.quantized; });
    if (count == 0) {
      *why_not = layers.empty() ? "no MatMul or Gemm with a constant weight" : layers[0].name + ": " + layers[0].why;
      return {};
    }
    std::vector<Proposal> proposals = {proposal(context, count, "none", 0.5)};
    if (count > 1) proposals.push_back(proposal(context, count - 1, "last", 0.35));
    return proposals;
  }

  Result<Applied> apply(const Proposal& proposal, const Context& context, const fs::path& folder) const override {
    const auto& features = context.diagnosis.machine.features;
    QuantizeOptions options;
    options.seven_bit = std::none_of(features.begin(), features.end(), [](const std::string& f) {
      return f == "avx512_vnni" || f == "avx_vnni" || f == "amx_int8" || f == "asimddp";
    });
    const auto kept = proposal.params.find("float_layers");
    options.skip_last = kept != proposal.params.end() && kept->second == "last";
    model::Model copy = context.model.clone();
    Applied applied;
    applied.nodes_before = static_cast<int64_t>(copy.graph().node_count());
    const auto layers = quantize_int8_dynamic(copy.graph(), options);
    applied.nodes_after = static_cast<int64_t>(copy.graph().node_count());
    size_t quantized = 0;
    for (const QuantizedLayer& layer : layers) {
      quantized += layer.quantized ? 1 : 0;
      applied.export_log += fmt::format("{} [{}x{}]: {}\n", layer.name, layer.k, layer.n,
                                        layer.quantized ? "int8" : "float, " + layer.why);
    }
    HONE_TRY(copy.check());
    const auto files = HONE_TRY(copy.save(folder / "model.onnx"));
    applied.configuration = context.best;
    applied.configuration.model = files.front();
    applied.summary =
        fmt::format("{} of {} in int8{}", quantized, counted(static_cast<long long>(layers.size()), "layer"),
                    options.seven_bit ? ", 7 bits (no VNNI)" : "");
    applied.patch = applied.export_log;
    return applied;
  }

 private:
  Proposal proposal(const Context& context, long long count, const char* float_layers, double chance) const {
    Proposal p;
    p.change = info().id;
    p.accuracy = info().accuracy;
    p.params["float_layers"] = float_layers;
    p.hypothesis = fmt::format("{} in int8: a quarter of the bytes, integer dot products", counted(count, "layer"));
    p.upper_bound = 1.5;
    for (const std::string& id : info().findings)
      if (const diagnose::Finding* finding = context.diagnosis.find(id)) {
        if (p.finding.empty()) p.finding = id;
        p.upper_bound = std::max(p.upper_bound, finding->upper_bound);
      }
    p.predicted = 1.0 + 0.5 * (p.upper_bound - 1.0);
    p.chance = chance;
    p.cost_seconds = 15;
    return p;
  }
};

}  // namespace

const Change& int8_dynamic_change() {
  static const Int8Dynamic change;
  return change;
}

}  // namespace hone::change
