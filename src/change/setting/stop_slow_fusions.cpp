// stop-slow-fusions: keeps ONNX Runtime's optimizer from making operators whose CPU kernels are slower than the nodes
// they replace. Measured with 1.32 on one thread of an Intel Xeon (Sapphire Rapids):
//   SkipLayerNormalization against Add and LayerNormalization: 3.7x slower at 16x384, 6x at 128x768, 5x at 512x768
//   BiasGelu against Add and Gelu:                             1.16x slower at 128x768, 1.28x at 128x3072
// Whole BERT-like models without the first: 1.05x (hidden 768, 128 tokens) to 1.16x (hidden 384, 16 tokens) faster.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "change/setting/setting_change.h"
#include "change/setting/slow_fusions.h"

namespace hone::change {

namespace {

struct SlowFusion {
  std::string_view op, optimizer;
  double slower;  // than what it replaces
};
constexpr std::array kSlowFusions = {SlowFusion{"SkipLayerNormalization", "SkipLayerNormFusion", 4},
                                     SlowFusion{"BiasGelu", "BiasGeluFusion", 1.2}};

std::vector<Proposal> propose(const Context& context, std::string* why_not) {
  std::string optimizers;
  double share = 0, saved = 0;
  for (const SlowFusion& fusion : kSlowFusions) {
    double of_this = 0;
    for (const diagnose::OperatorTime& op : context.diagnosis.operators)
      if (op.type == fusion.op) of_this += op.share;
    if (of_this == 0) continue;
    share += of_this;
    saved += of_this * (1 - 1 / fusion.slower);
    optimizers += (optimizers.empty() ? "" : ";") + std::string(fusion.optimizer);
  }
  if (optimizers.empty()) {
    *why_not = "the profile has no SkipLayerNormalization and no BiasGelu";
    return {};
  }
  const auto without = [](double part) { return 1 / (1 - std::min(part, 0.9)); };
  return {set(kDisabledOptimizers, optimizers, "the fused kernels are slower than what they replace",
              {without(saved), without(share), 0.7})};
}

bool is_sum(const model::Graph& graph, model::ValueId value) {
  const model::Node* node = value == model::kNoValue ? nullptr : graph.producer(value);
  return node != nullptr && node->is("Add");
}

}  // namespace

std::string slow_fusions_of(const model::Graph& graph) {
  bool skip = false, bias = false;
  for (const model::NodeId id : graph.order()) {
    const model::Node& node = graph.node(id);
    skip = skip || (node.is("LayerNormalization") && is_sum(graph, node.input(0)));
    bias = bias || ((node.is("Gelu") || node.is("Gelu", "com.microsoft")) && is_sum(graph, node.input(0)));
  }
  std::string out = skip ? std::string(kSlowFusions[0].optimizer) : "";
  if (bias) out += (out.empty() ? "" : ";") + std::string(kSlowFusions[1].optimizer);
  return out;
}

const Change& stop_slow_fusions_change() {
  static const SettingChange change({"stop-slow-fusions",
                                     Kind::kSetting,
                                     accuracy::Class::kReassociating,
                                     "SkipLayerNormalization, BiasGelu -> the nodes they were made of",
                                     {}},
                                    "onnxruntime", propose);
  return change;
}

}  // namespace hone::change
