// What the rules about normalizations share: finding the parts around a reduction, and the parameters after it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "change/rewrite/pattern.h"

namespace hone::change {

// A normalization over the last axis, however it is written.
struct NormSite {
  model::ValueId x = model::kNoValue, result = model::kNoValue;
  model::ValueId scale = model::kNoValue, bias = model::kNoValue;  // kNoValue: not there
  double epsilon = 0;
  int64_t width = -1;  // of the last axis; -1 not known
  std::vector<model::NodeId> nodes;
  std::string why;  // when it is none: the first condition that fails, or empty when it is not even near
};

// Empty when a ReduceMean is over the last axis only and keeps it, else why not.
std::string last_axis_mean(const model::Graph& graph, model::NodeId reduce);

// Takes in the Mul by a per-element scale and the Add of a per-element bias that follow site.result.
void take_scale(const model::Graph& graph, NormSite& site);
void take_bias(const model::Graph& graph, NormSite& site);

// The scale as a rank 1 value: the one that is there (reshaped when it is [1,1,H]), or ones.
model::ValueId scale_value(model::Graph& graph, const NormSite& site);
model::ValueId bias_value(model::Graph& graph, const NormSite& site);  // kNoValue when there is none

// sqrt(variance + epsilon) under the normalized value, in all its forms: numerator / sqrt, * reciprocal(sqrt), ...
// Binds "epsilon". `variance` is the pattern of what the epsilon is added to.
Pattern over_root(const Pattern& numerator, const Pattern& variance);

}  // namespace hone::change
