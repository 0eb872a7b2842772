// Writes the fake engine's profile in the form of ONNX Runtime's, so that the same reader takes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/file.h"
#include "engine/fake/latency.h"

namespace hone::engine::fake {

// One inference: when it began and how long it took, on the fake clock.
struct RunTime {
  int64_t start_ns = 0, duration_ns = 0;
};

// In every inference the nodes' shares of the time are those of their costs; their times add up to the inference's
// but for the fixed 10 us outside of nodes (total_us).
Status write_trace(const fs::path& path, const std::vector<NodeCost>& nodes, const std::vector<RunTime>& runs);

}  // namespace hone::engine::fake
