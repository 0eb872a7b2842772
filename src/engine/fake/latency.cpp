// SPDX-License-Identifier: Apache-2.0
#include "engine/fake/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "engine/setting_value.h"

namespace hone::engine::fake {

namespace {

struct OpCost {
  std::string_view op;
  double us;
};

constexpr double kOtherUs = 20;
constexpr std::array<OpCost, 27> kCosts = {{
    {"MatMul", 200},
    {"Gemm", 200},
    {"Conv", 300},
    {"FusedConv", 310},
    {"FusedMatMul", 205},
    {"Attention", 350},
    {"MultiHeadAttention", 300},
    {"MatMulInteger", 60},
    {"DynamicQuantizeMatMul", 80},
    {"MatMulIntegerToFloat", 70},
    {"QLinearConv", 120},
    {"DynamicQuantizeLinear", 15},
    {"QuantizeLinear", 10},
    {"DequantizeLinear", 10},
    {"Softmax", 40},
    {"LayerNormalization", 40},
    {"SkipLayerNormalization", 45},
    {"BatchNormalization", 40},
    {"Gelu", 25},
    {"BiasGelu", 28},
    {"FastGelu", 25},
    {"Transpose", 30},
    {"Reshape", 5},
    {"Identity", 5},
    {"Constant", 0},
    {"Shape", 5},
    {"Cast", 10},
}};

double cost_of(std::string_view op) {
  for (const auto& cost : kCosts)
    if (cost.op == op) return cost.us;
  return kOtherUs;
}

// ONNX Runtime's words for types in a profile.
std::string ort_type(model::DType dtype) {
  if (dtype == model::DType::kFloat) return "float";
  if (dtype == model::DType::kDouble) return "double";
  return model::dtype_name(dtype);
}

std::string input_types(const model::Graph& graph, const model::Node& node) {
  std::string out;
  for (const model::ValueId id : node.inputs) {
    if (id == model::kNoValue) continue;
    const auto& type = graph.value(id).type;
    const auto dims = type.dims();
    if (!dims || type.dtype == model::DType::kUndefined) return {};
    std::string list;
    for (const int64_t dim : *dims) list += fmt::format("{}{}", list.empty() ? "" : ",", dim);
    out += fmt::format("{}{{\"{}\":[{}]}}", out.empty() ? "" : ",", ort_type(type.dtype), list);
  }
  return "[" + out + "]";
}

bool is(const Settings& settings, const std::string& id, std::string_view value) {
  return setting_text(settings, id) == value;
}

double threads_speedup(int threads) {
  // Two threads pay, four hardly more, beyond that they are in each other's way.
  if (threads <= 1) return 1;
  if (threads == 2) return 1.2;
  return threads <= 4 ? 1.25 : 1.1;
}

}  // namespace

std::vector<NodeCost> node_costs(const model::Graph& graph) {
  std::vector<NodeCost> out;
  for (const model::NodeId id : graph.order()) {
    const model::Node& node = graph.node(id);
    const std::string name = node.name.empty() ? fmt::format("{}_{}", node.op_type, id) : node.name;
    out.push_back({name, node.op_type, cost_of(node.op_type), input_types(graph, node)});
  }
  return out;
}

double total_us(const std::vector<NodeCost>& nodes) {
  double sum = 10;  // an inference without nodes takes some time too
  for (const auto& node : nodes) sum += node.us;
  return sum;
}

double time_factor(const Settings& settings) {
  double factor = 1 / threads_speedup(setting_int(settings, "intra_op_threads", 1));
  if (setting_bool(settings, "process.huge_pages", false)) factor /= 1.05;
  if (!setting_bool(settings, "intra_op_spinning", true)) factor *= 1.1;
  if (!setting_bool(settings, "memory_pattern", true)) factor *= 1.02;
  if (!setting_bool(settings, "memory_arena", true)) factor *= 1.04;
  if (setting_bool(settings, "output_binding", false)) factor /= 1.01;
  if (setting_bool(settings, "gelu_approximation", false)) factor /= 1.02;
  if (is(settings, "execution_mode", "parallel")) factor *= 1.05;
  if (is(settings, "graph_optimization", "disabled")) factor *= 1.3;
  if (is(settings, "graph_optimization", "basic")) factor *= 1.1;
  if (is(settings, "graph_optimization", "extended")) factor *= 1.02;
  if (setting_int(settings, "dynamic_block_base", 0) > 0) factor /= 1.04;
  return factor / setting_float(settings, "fake.speed", 1);
}

double relative_error(const Settings& settings) {
  double error = setting_float(settings, "fake.error", 0);
  if (setting_bool(settings, "gelu_approximation", false)) error = std::max(error, 1e-5);
  return error;
}

double Noise::uniform() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return (static_cast<double>(z >> 11) + 1) / 9007199254740992.0;
}

double Noise::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace hone::engine::fake
