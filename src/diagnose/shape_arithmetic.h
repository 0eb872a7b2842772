// Shape arithmetic: the nodes whose values depend on the shapes of the inputs only; with fixed shapes they are
// constants. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/facts.h"

namespace hone::diagnose {

// Those that ran as kernels of their own.
std::vector<NodeRef> shape_arithmetic(const Facts& facts);
// Their time, and their part of the time outside of kernels.
double shape_arithmetic_ms(const Facts& facts, const std::vector<NodeRef>& nodes);
// Names of the inputs with free dimensions.
std::vector<std::string> free_inputs(const model::Graph& graph);

}  // namespace hone::diagnose
