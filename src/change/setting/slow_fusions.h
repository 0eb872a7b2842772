// Fusions of ONNX Runtime's optimizer that lose time on CPU, and the setting that stops them (stop_slow_fusions.cpp has
// the figures). A rewrite that lets its optimizer see more must not end in these.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/graph.h"

namespace hone::change {

// ONNX Runtime's session configuration: names of its optimizers, separated by semicolons.
inline constexpr const char* kDisabledOptimizers = "config.optimization.disable_specified_optimizers";

// The optimizers that may turn nodes of this graph into slower ones; empty when it has no such nodes.
std::string slow_fusions_of(const model::Graph& graph);

}  // namespace hone::change
