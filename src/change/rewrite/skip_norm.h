// A normalization of a residual sum, as one operator that gives the sum as well: what fuse-skip-layernorm and
// fuse-skip-rmsnorm share. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "change/rewrite/rule.h"
#include "model/graph.h"

namespace hone::change {

// Looks at a normalization over the last axis whose input is a sum of two values of the same shape. Match::nodes are
// {norm, sum}.
Match match_skip_norm(const model::Graph& graph, model::NodeId norm);
// Puts `op` of com.microsoft in their place: inputs x, skip, scale(, bias); output 3 is the sum when it is read
// elsewhere.
void replace_skip_norm(model::Graph& graph, const Match& match, std::string op);

}  // namespace hone::change
