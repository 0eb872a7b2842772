// The public verbs of measure/: they make the workers' blocks and hand them to the coordinator.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "measure/coordinator.h"
#include "measure/measure.h"
#include "measure/warnings.h"
#include "measure/worker_blocks.h"

namespace hone::measure {

namespace {

worker::BlockRequest request_of(const Bench& bench) {
  worker::BlockRequest request;
  request.settle_ms = bench.protocol.settle_ms;
  request.min_settle_iterations = bench.protocol.min_settle_iterations;
  request.timed_ms = bench.protocol.block_ms;
  request.min_iterations = bench.protocol.min_block_iterations;
  request.keep_samples = true;
  return request;
}

Plan plan_of(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench) {
  Plan plan;
  plan.seed = bench.seed;
  plan.budget_s = bench.budget_s;
  plan.same_configuration = a == b;
  return plan;
}

Result<Comparison> run_plan(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench,
                            const Plan& plan) {
  WorkerBlocks source(a, b, bench, request_of(bench));
  MachineWatch own;
  Comparison comparison =
      HONE_TRY(run_comparison(source, plan, bench.calibration, bench.watch ? *bench.watch : own, bench.progress));
  comparison.protocol_hash = bench.protocol.hash();
  return comparison;
}

// One worker's share of a Measurement.
class MeasureOne {
 public:
  MeasureOne(BlockSource& source, const Bench& bench, MachineWatch& watch)
      : source_(source), bench_(bench), places_(bench.calibration, watch) {}

  Status instance(int number, double seconds) {
    HONE_TRY(source_.start('A', number));
    const std::string wanted = source_.real_clock() ? reference() : kFake;
    double waited_s = 0;
    double timed_s = 0;
    // Counts blocks, not the clock: with the fake engine's clock both must give the same.
    do {
      if (bench_.progress.cancelled && bench_.progress.cancelled())
        return fail(interrupted("the measurement was interrupted"));
      HONE_TRY(wait_for(wanted, &waited_s));
      timed_s += HONE_TRY(one_block(number));
    } while (timed_s < seconds);
    open_seconds_.push_back(source_.open_seconds('A'));
    if (source_.real_clock()) peak_bytes_ = std::max(peak_bytes_, HONE_TRY(source_.peak_bytes('A')));
    source_.stop();
    return {};
  }

  Measurement result() {
    Measurement out;
    out.place = source_.real_clock() ? reference() : kFake;
    const Samples& most = at_[out.place];
    out.samples_ms = most.ms;
    out.execute_ms = spread_of(out.samples_ms);
    out.peak_memory_bytes = peak_bytes_;
    out.open_seconds = median_of(open_seconds_);
    out.protocol_hash = bench_.protocol.hash();
    if (disturbed_ * 10 > blocks_)
      out.warnings.push_back(fmt::format("the machine is busy: {} of {} blocks were disturbed", disturbed_, blocks_));
    if (out.place == kMoved) out.warnings.push_back("this machine moved between places in most blocks");
    if (at_.size() > 1 && out.place != kMoved)
      out.warnings.push_back(
          fmt::format("this machine moves between places; these are the {} blocks in {}", most.blocks, out.place));
    return out;
  }

 private:
  struct Samples {
    std::vector<double> ms;
    int blocks = 0;
  };

  // As in a comparison: near first, then the place with most blocks.
  std::string reference() const {
    std::string best = places_.first_reference();
    int most = 0;
    for (const auto& [place, samples] : at_)
      if (samples.blocks > most) most = samples.blocks, best = place;
    return best;
  }

  Status wait_for(const std::string& wanted, double* waited_s) {
    const Plan defaults;
    if (wanted == kOne || wanted == kFake || wanted == kMoved) return {};
    while (*waited_s < defaults.longest_wait_s) {
      if (places_.classify(HONE_TRY(source_.canary())) == wanted) return {};
      source_.sleep_s(defaults.poll_s);
      *waited_s += defaults.poll_s;
    }
    return {};
  }

  Result<double> one_block(int number) {
    BlockRow row;
    row.pair = number;
    row.slot = blocks_;
    row.pid = source_.pid('A');
    row.block = HONE_TRY(source_.block('A', static_cast<size_t>(blocks_)));
    ++blocks_;
    row.place = source_.real_clock() ? places_.classify(row.block) : kFake;
    disturbed_ += source_.real_clock() && disturbance(row.block).share >= Plan().highest_pressure;
    Samples& there = at_[row.place];
    there.ms.insert(there.ms.end(), row.block.samples_ms.begin(), row.block.samples_ms.end());
    ++there.blocks;
    const double timed_s = row.block.timed_s;
    if (bench_.progress.on_block) bench_.progress.on_block(row);
    return std::max(timed_s, 1e-6);
  }

  BlockSource& source_;
  const Bench& bench_;
  Places places_;
  std::map<std::string, Samples> at_;
  std::vector<double> open_seconds_;
  int64_t peak_bytes_ = 0;
  int blocks_ = 0, disturbed_ = 0;
};

}  // namespace

Result<Measurement> run_measurement(BlockSource& source, const Bench& bench, MachineWatch& watch, int instances,
                                    double seconds_each) {
  MeasureOne one(source, bench, watch);
  for (int i = 1; i <= instances; ++i) HONE_TRY(one.instance(i, seconds_each));
  return one.result();
}

Result<Measurement> measure(const engine::Configuration& what, const Bench& bench, int instances, double seconds) {
  WorkerBlocks source(what, what, bench, request_of(bench));
  MachineWatch own;
  const int count = std::max(1, instances);
  return run_measurement(source, bench, bench.watch ? *bench.watch : own, count, seconds / count);
}

Result<Comparison> compare(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench,
                           const Rule& rule) {
  Plan plan = plan_of(a, b, bench);
  plan.rule = rule;
  return run_plan(a, b, bench, plan);
}

Result<Comparison> compare_fixed(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench,
                                 int pairs) {
  Plan plan = plan_of(a, b, bench);
  plan.fixed_pairs = pairs;
  plan.most_attempts = std::max(plan.most_attempts, 2 * pairs);
  return run_plan(a, b, bench, plan);
}

Result<double> screen(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench) {
  worker::BlockRequest request = request_of(bench);
  request.timed_ms = std::min(request.timed_ms, 40.);
  request.keep_samples = false;
  WorkerBlocks source(a, b, bench, request);
  Plan plan = plan_of(a, b, bench);
  plan.fixed_pairs = plan.most_attempts = 2;
  plan.block_pairs = plan.extra_block_pairs = 1;
  plan.longest_wait_s = .5;
  plan.highest_pressure = 2;  // it only orders what will be measured properly: a busy machine must not stop it
  MachineWatch own;
  Progress progress;
  progress.cancelled = bench.progress.cancelled;
  const Comparison comparison =
      HONE_TRY(run_comparison(source, plan, bench.calibration, bench.watch ? *bench.watch : own, progress));
  if (comparison.pairs.empty())
    return fail(tool_failed("the machine moved between places in every block", a.model.string(), "try again"));
  return comparison.speedup.estimate;
}

}  // namespace hone::measure
