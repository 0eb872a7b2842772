// From a profile's operator and its node to an Invocation: shapes as they were in the run, else as inferred.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "diagnose/cost.h"
#include "diagnose/mapping.h"
#include "profile/operators.h"

namespace hone::diagnose {

Invocation invocation_of(const profile::Profile& profile, const profile::Operator& row, const NodeRef& root);
// The type a kernel computes with: of its weight when that is quantized, else of its first input.
model::DType computed_with(const Invocation& invocation);

}  // namespace hone::diagnose
