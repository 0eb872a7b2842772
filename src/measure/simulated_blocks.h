// A simulated machine for tests of the coordinator: two models with known latencies, the noise of measuring.md 1.3,
// a hypervisor that moves the CPUs between places, load by others, and workers that die. Its clock is its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "measure/blocks.h"
#include "measure/place.h"

namespace hone::measure {

struct SimulatedMachine {
  double a_ms = 10, speedup = 1;              // of B over A, in near
  double instance_sd = .010;                  // of the log ratio of an instance pair
  double block_pair_sd = .028;                // of the log ratio of a block pair
  double slow_block_share = 0, slow_by = .2;  // right-tailed disturbances that no counter sees
  // Places: share of time in far and sibling, and how long an episode lasts.
  double far_share = 0, episode_s = 2, far_slower = 2.1, far_speedup = -1;  // -1: the same speed-up as in near
  double busy_share = 0;                                                    // of blocks that have a pressure of 50 %
  double foreign_cpus = 0;                                                  // all the time
  double steal_share = 0;
  double fma_drift = 0;  // per second
  bool fake_clock = false, has_pressure = true;
  int die_at_block = -1;  // the worker dies in this block
  int refuse_start = -1;  // start() fails in this instance pair
};

class SimulatedBlocks final : public BlockSource {
 public:
  SimulatedBlocks(const SimulatedMachine& machine, uint64_t seed) : machine_(machine), random_(seed) { draw_episode(); }

  Status start(char side, int pair) override {
    if (pair == machine_.refuse_start && side == 'B') return fail(tool_failed("the engine refuses the model"));
    running[side == 'B'] = true;
    now_ += .15;
    order += side == 'A' ? 'a' : 'b';
    if (side == 'A') instance_ = machine_.instance_sd * normal_(random_);
    return {};
  }
  Result<worker::BlockResult> block(char side, size_t sample) override {
    if (!running[side == 'B']) return fail(internal_error("this side does not run"));
    order += side;
    samples.push_back(sample);
    if (blocks++ == machine_.die_at_block) return fail(tool_failed("engine x crashed: SIGSEGV"));
    worker::BlockResult block;
    block.before = now_canary();
    const bool far_now = far();
    now_ += .12;
    block.after = now_canary();
    block.start_s = now_;
    block.timed_s = .1;
    fill_times(side, far_now, &block);
    fill_counters(&block);
    return block;
  }
  Result<worker::Canary> canary() override { return now_canary(); }
  void stop() override { running[0] = running[1] = false; }
  int pid(char side) const override { return side == 'A' ? 100 : 200; }
  Result<int64_t> peak_bytes(char side) override { return side == 'A' ? 1000 : 2000; }
  double open_seconds(char) const override { return .15; }
  bool real_clock() const override { return !machine_.fake_clock; }
  ForeignLoad foreign_load() override { return {machine_.foreign_cpus, machine_.foreign_cpus > 0 ? "cc1plus" : ""}; }
  double now_s() override { return now_; }
  void sleep_s(double seconds) override { now_ += seconds; }

  std::string order;  // a, b = started; A, B = a block
  std::vector<size_t> samples;
  bool running[2] = {false, false};
  int blocks = 0;

 private:
  bool far() {
    while (now_ > episode_end_) draw_episode();
    return far_;
  }
  void draw_episode() {
    std::exponential_distribution<double> length(1 / machine_.episode_s);
    far_ = std::uniform_real_distribution<double>()(random_) < machine_.far_share;
    episode_end_ += length(random_);
  }
  worker::Canary now_canary() {
    const double fma = .487 * (1 + machine_.fma_drift * now_);
    return {far() ? 170. : 40., {fma, fma}};
  }
  void fill_times(char side, bool far_now, worker::BlockResult* block) {
    const double speedup = far_now && machine_.far_speedup > 0 ? machine_.far_speedup : machine_.speedup;
    double log_ms = std::log(machine_.a_ms) + machine_.block_pair_sd / std::sqrt(2.) * normal_(random_);
    if (side == 'B') log_ms -= std::log(speedup) + instance_;
    if (far_now) log_ms += std::log(machine_.far_slower);
    if (std::uniform_real_distribution<double>()(random_) < machine_.slow_block_share) log_ms += machine_.slow_by;
    const double ms = std::exp(log_ms);
    block->iterations = 10;
    block->min = ms * .99, block->q10 = ms * .995, block->q25 = ms, block->q50 = ms * 1.01, block->q75 = ms * 1.02;
    block->q90 = ms * 1.03, block->max = ms * 1.1, block->mean = ms * 1.02;
    block->samples_ms = {block->min, block->q25, block->q50, block->q75, block->max};
  }
  void fill_counters(worker::BlockResult* block) {
    const bool busy = std::uniform_real_distribution<double>()(random_) < machine_.busy_share;
    block->own_cpu_s = .18;
    block->busy_cpu_s = block->own_cpu_s + block->timed_s * (machine_.foreign_cpus + (busy ? .5 : 0));
    block->pressure = machine_.has_pressure ? (busy ? .5 : .02) : -1;
    block->steal_s = block->timed_s * machine_.steal_share;
  }

  SimulatedMachine machine_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double now_ = 0, episode_end_ = 0, instance_ = 0;
  bool far_ = false;
};

}  // namespace hone::measure
