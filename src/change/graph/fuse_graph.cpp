// fuse-graph: every rewrite at once that ONNX Runtime does not do by itself when it loads the model.
// Those for one engine, or slow where they fit badly, are Changes of their own.
// SPDX-License-Identifier: Apache-2.0
#include "change/graph/graph_change.h"

namespace hone::change {

namespace {

std::vector<const Rule*> rules_left_for_us() {
  std::vector<const Rule*> out;
  for (const Rule* rule : all_rules())
    if (!rule->info().done_by_onnxruntime && rule->info().engine.empty() && rule->info().only_when_named.empty())
      out.push_back(rule);
  return out;
}

}  // namespace

const Change& fuse_graph_change() {
  static const GraphChange change({"fuse-graph",
                                   Kind::kGraph,
                                   accuracy::Class::kReassociating,
                                   "exported chains of small nodes -> fused operators",
                                   {"unfused_attention", "unfused_norm", "unfused_activation", "unfused_batchnorm"}},
                                  rules_left_for_us(), /*freeze=*/false, /*chance=*/0.4);
  return change;
}

}  // namespace hone::change
