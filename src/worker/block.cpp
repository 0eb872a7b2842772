// SPDX-License-Identifier: Apache-2.0
#include "worker/block.h"

#include <algorithm>

#include "base/check.h"
#include "base/statistics.h"
#include "worker/counters.h"

namespace hone::worker {

namespace {

// A clock that does not move over so many inferences would keep a block running for ever.
constexpr int kMostStillIterations = 1'000'000;

}  // namespace

void summarize(std::vector<double> times_ms, BlockResult* block) {
  HONE_CHECK(!times_ms.empty());
  block->iterations = static_cast<int>(times_ms.size());
  block->mean = mean_of(times_ms);
  std::sort(times_ms.begin(), times_ms.end());
  block->min = times_ms.front();
  block->q10 = quantile_of_sorted(times_ms, .10);
  block->q25 = quantile_of_sorted(times_ms, .25);
  block->q50 = quantile_of_sorted(times_ms, .50);
  block->q75 = quantile_of_sorted(times_ms, .75);
  block->q90 = quantile_of_sorted(times_ms, .90);
  block->max = times_ms.back();
}

bool Bench::fake_clock() const { return &session_.clock() != &steady_clock(); }

Status Bench::bind(size_t index) {
  HONE_CHECK(!samples_.empty());
  index %= samples_.size();
  if (index == bound_) return {};
  HONE_TRY(session_.bind(samples_[index]));
  bound_ = index;
  return {};
}

Result<int> Bench::run(double ms, int iterations, std::vector<double>* times_ms) {
  Clock& clock = session_.clock();
  const int64_t start_ns = clock.now_ns();
  const double want_ns = ms * 1e6;
  int done = 0;
  int64_t now_ns = start_ns;
  while (done < iterations || static_cast<double>(now_ns - start_ns) < want_ns) {
    const int64_t before_ns = clock.now_ns();
    auto status = session_.run();
    now_ns = clock.now_ns();
    if (!status) return fail(std::move(status).error());
    if (times_ms != nullptr) times_ms->push_back(static_cast<double>(now_ns - before_ns) * 1e-6);
    if (++done >= kMostStillIterations && now_ns == start_ns)
      return fail(tool_failed("the engine's clock stands still"));
  }
  return done;
}

Result<BlockResult> Bench::block(const BlockRequest& request) {
  HONE_TRY(bind(request.sample));
  BlockResult block;
  block.settle_iterations = HONE_TRY(run(request.settle_ms, request.min_settle_iterations));
  std::vector<double> times_ms;
  times_ms.reserve(1 << 14);
  Clock& clock = session_.clock();
  const bool real = !fake_clock();
  const std::vector<int> cpus = real ? usable_cpus() : std::vector<int>();
  // Read after the settle: threads thawed onto one CPU cost 3-5 % of pressure there (measuring.md section 3, traps).
  const Counters before = real ? read_counters(cpus) : Counters();
  const int64_t start_ns = clock.now_ns();
  HONE_TRY(run(request.timed_ms, std::max(1, request.min_iterations), &times_ms));
  block.timed_s = static_cast<double>(clock.now_ns() - start_ns) * 1e-9;
  if (real) add_difference(before, read_counters(cpus), &block);
  block.start_s = static_cast<double>(start_ns) * 1e-9;
  if (request.keep_samples) block.samples_ms = times_ms;
  summarize(std::move(times_ms), &block);
  return block;
}

}  // namespace hone::worker
