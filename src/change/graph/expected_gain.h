// What a rewrite can gain on a diagnosed model, by Amdahl's law over the operators that it takes away.
//
// Neither a measurement nor a promise: the loop orders its trials by `predicted` and leaves out what `upper_bound` says
// can't be proven.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "diagnose/diagnosis.h"
#include "model/graph.h"

namespace hone::change {

struct Gain {
  double upper_bound = 1;  // speed-up of the whole model
  double predicted = 1;
};

// Of the graph `after` in the place of `before`, whose times the diagnosis holds.
Gain expected_gain(const model::Graph& before, const model::Graph& after, const diagnose::Diagnosis& diagnosis);

// The same when the input shapes become fixed too: engines then plan memory and choose kernels anew, all over the
// model.
Gain with_fixed_shapes(const Gain& gain);

}  // namespace hone::change
