// fuse-graph: every rewrite at once that ONNX Runtime does not do by itself when it loads the model.
// Those for one engine, or slow where they fit badly, are Changes of their own.
// SPDX-License-Identifier: Apache-2.0
#include "change/graph/graph_change.h"

namespace hone::change {

namespace {

std::vector<const Rule*> rules_left_for_us() {
  std::vector<const Rule*> rules = rules_for({});
  std::erase_if(rules, [](const Rule* rule) { return rule->info().done_by_onnxruntime; });
  return rules;
}

}  // namespace

const Change& fuse_graph_change() {
  static const GraphChange change(
      {"fuse-graph", Kind::kGraph, accuracy::Class::kReassociating, "exported chains of small nodes -> fused operators",
       findings_of(rules_left_for_us())},
      rules_left_for_us(), /*freeze=*/false, /*chance=*/0.4);
  return change;
}

}  // namespace hone::change
