// The block: settle, then timed iterations of one session (measuring.md section 3). Runs inside the worker process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/engine.h"
#include "worker/worker.h"

namespace hone::worker {

// A session with its samples; remembers which sample is bound.
class Bench {
 public:
  Bench(engine::Session& session, const std::vector<model::NamedTensors>& samples)
      : session_(session), samples_(samples) {}
  // Binds samples[index % count] unless it is bound already.
  Status bind(size_t index);
  // Runs at least `ms` and `iterations` by the session's clock; appends each iteration's milliseconds when asked.
  Result<int> run(double ms, int iterations, std::vector<double>* times_ms = nullptr);
  Result<BlockResult> block(const BlockRequest& request);
  bool fake_clock() const;
  engine::Session& session() { return session_; }
  size_t sample_count() const { return samples_.size(); }

 private:
  engine::Session& session_;
  const std::vector<model::NamedTensors>& samples_;
  size_t bound_ = static_cast<size_t>(-1);
};

// Sets min, quantiles, max and mean; `times_ms` is not empty. Quantiles interpolate linearly (numpy's default).
void summarize(std::vector<double> times_ms, BlockResult* block);

}  // namespace hone::worker
