// WorkerBlocks: blocks from real worker processes. The idle side is frozen; canaries run in this process while both
// sides are, so that no spinning thread pool disturbs them (measuring.md 1.2 and 3).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>

#include "measure/blocks.h"
#include "measure/measure.h"

namespace hone::measure {

class WorkerBlocks final : public BlockSource {
 public:
  WorkerBlocks(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench,
               const worker::BlockRequest& request);

  Status start(char side, int pair) override;
  Result<worker::BlockResult> block(char side, size_t sample) override;
  Result<worker::Canary> canary() override { return worker::run_canary(cpus_); }
  void stop() override;
  int pid(char side) const override;
  Result<int64_t> peak_bytes(char side) override;
  double open_seconds(char side) const override;
  bool real_clock() const override { return real_clock_; }
  ForeignLoad foreign_load() override;
  double now_s() override;
  void sleep_s(double seconds) override;

 private:
  std::unique_ptr<worker::Worker>& worker(char side) { return workers_[side == 'B']; }
  const worker::Worker& running(char side) const;

  const engine::Configuration configurations_[2];
  const Bench& bench_;
  const worker::BlockRequest request_;
  const std::vector<int> cpus_;
  std::unique_ptr<worker::Worker> workers_[2];
  bool real_clock_ = true;
  std::map<int, double> cpu_seconds_;  // by pid, at the last foreign_load()
  double foreign_since_s_ = 0;
};

}  // namespace hone::measure
