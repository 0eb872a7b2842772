// Fixing the Protocol: from a Model and what the user gave (data, shapes, threads) to the Samples and the Protocol that
// every measurement of a Run, a `bench` or an `align` is made under.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/data.h"
#include "protocol/protocol.h"

namespace hone::protocol {

struct FixOptions {
  fs::path data;    // empty: synthetic
  Shapes shapes;    // --shape
  int threads = 0;  // 0 = all cores
  uint64_t seed = 42;
  size_t sample_limit = 32;    // ptq.md section 5: tens of samples
  size_t synthetic_count = 4;  // enough that a cached result of one input shows
  std::string accuracy_level = "numeric";
};

struct Fixed {
  Protocol protocol;
  Dataset data;
};

Result<Fixed> fix(const model::Model& model, const FixOptions& options);

}  // namespace hone::protocol
