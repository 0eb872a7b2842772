// What the rules that fuse an activation formula share: a Match from a Formula, and the fused node in its place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "change/rewrite/pattern.h"
#include "change/rewrite/polynomial.h"

namespace hone::change {

// Match::values are {x, result}.
Match match_activation(const model::Graph& graph, model::NodeId function, const Formula& formula);
// Puts `fused` (operator, domain and attributes are given; inputs and outputs are filled in here) in the formula's
// place.
void replace_activation(model::Graph& graph, const Match& match, model::NodeSpec fused);

}  // namespace hone::change
