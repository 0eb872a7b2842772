// The pieced-together forms of HardSigmoid: what fuse-hardsigmoid and fuse-hardswish both look for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "change/rewrite/pattern.h"

namespace hone::change {

// Clip(x + b, 0, h): binds b as number "shift", the Clip as node "clip".
Pattern clipped_sum(const Pattern& x);
// value / h, or value * (1/h): binds "height" (h) or "inverse" (1/h).
Pattern divided_by_height(const Pattern& value);
// Checks that the Clip is from 0 to h, and writes h into match.numbers[0]. A sentence when it is not.
std::string hard_gate_obstacle(const model::Graph& graph, Match& match);
// The HardSigmoid node of a checked match.
model::NodeSpec hard_sigmoid(const Match& match, model::ValueId x, model::ValueId result);

}  // namespace hone::change
