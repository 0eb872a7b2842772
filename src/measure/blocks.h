// BlockSource: what makes blocks. The coordinator above it knows the protocol and no processes, so that thousands of
// comparisons can be simulated in a second; WorkerBlocks below it knows processes and no statistics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "worker/worker.h"

namespace hone::measure {

// The busiest process that is neither ours nor a worker's.
struct ForeignLoad {
  double cpus = 0;  // CPU seconds per second
  std::string name;
};

class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // A fresh instance of one side ('A' or 'B'), warmed up, then quiet.
  virtual Status start(char side, int pair) = 0;
  // One block of a started side, with canaries before and after; the side is quiet again when it returns.
  virtual Result<worker::BlockResult> block(char side, size_t sample) = 0;
  virtual Result<worker::Canary> canary() = 0;
  // Ends the instances that run.
  virtual void stop() = 0;
  virtual int pid(char side) const = 0;
  virtual Result<int64_t> peak_bytes(char side) = 0;
  virtual double open_seconds(char side) const = 0;
  // False: the engine brings its own clock; no canary, no place, no load. Known once a side has started.
  virtual bool real_clock() const = 0;
  // Load by others since the last call.
  virtual ForeignLoad foreign_load() = 0;
  virtual double now_s() = 0;
  virtual void sleep_s(double seconds) = 0;
};

}  // namespace hone::measure
