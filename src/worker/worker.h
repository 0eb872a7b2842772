// Worker: one engine session in a process of its own (program hone-worker), driven over a socket pair by line JSON.
//
// Own session (setsid), PDEATHSIG = SIGKILL, memory and time limits; standard output and error go to a log file whose
// last lines explain a crash. A worker can be frozen (SIGSTOP) and thawed, so that the idle side of a comparison is
// quiet (measuring.md 1.2). Crash, hang and out-of-memory become Errors of kind kToolFailed / kTimedOut.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/engine.h"
#include "model/tensor.h"

namespace hone::worker {

struct Limits {
  std::chrono::milliseconds reply{120'000};  // longest wait for one answer
  int64_t memory_bytes = 0;  // address-space independent (RSS watched); 0 = 80 % of the machine's memory
};

struct Options {
  engine::Configuration configuration;
  fs::path data;          // .npz samples file (leading sample axis) or folder of sample_NNNN.npz
  fs::path log;           // standard output and error of the worker
  fs::path profile_dir;   // non-empty: open with the engine's profiler on
  std::vector<int> cpus;  // CPU affinity; empty = inherited
  uint64_t instance_seed = 0;
  Limits limits;
};

// A canary: where the hypervisor has put our CPUs (measuring.md 1.1).
struct Canary {
  double ping_ns = 0;              // one way, cache line between two pinned threads; 0 with one CPU
  std::array<double, 2> fma_ms{};  // fixed FMA work on each of two CPUs at once
  double memory_ms = 0;            // optional; 0 when not run
};

struct BlockRequest {
  double settle_ms = 20;
  int min_settle_iterations = 2;
  double timed_ms = 100;
  int min_iterations = 3;
  bool canary = true;
  bool keep_samples = false;  // return every iteration's time
};

struct BlockResult {
  int settle_iterations = 0, iterations = 0;
  double start_s = 0;  // CLOCK_MONOTONIC
  // Milliseconds per inference over the timed iterations.
  double min = 0, q10 = 0, q25 = 0, q50 = 0, q75 = 0, q90 = 0, max = 0, mean = 0;
  std::vector<double> samples_ms;
  Canary before, after;
  // Differences over the timed part. pressure = CPU PSI "some" share (0..1), -1 when the kernel has none.
  double pressure = -1;
  double own_cpu_s = 0, busy_cpu_s = 0, steal_s = 0, run_queue_wait_s = 0;
  int64_t involuntary_switches = 0, minor_faults = 0;
  Json to_json() const;
  static Result<BlockResult> from_json(const Json& value);
};

struct Memory {
  int64_t peak_bytes = 0;      // VmHWM of the worker
  int64_t baseline_bytes = 0;  // RSS before the model was opened
};

class Worker {
 public:
  // Starts the process and opens the session. An engine that refuses the model is an Error with its message.
  static Result<std::unique_ptr<Worker>> start(const Options& options);
  ~Worker();  // SIGKILL and reap
  Worker(const Worker&) = delete;

  double open_seconds() const;  // session creation time
  int pid() const;
  const std::vector<engine::TensorInfo>& outputs() const;
  bool fake_clock() const;  // the engine brings its own clock: no canary, no real settle
  // Runs at least `ms` and `iterations`, untimed.
  Status warm_up(double ms, int iterations);
  Result<BlockResult> block(const BlockRequest& request);
  // Runs every sample once and writes the outputs to `folder`/sample_NNNN.npz.
  Status run_samples(const fs::path& folder, size_t limit = 0);
  // Runs `iterations` over the samples with the profiler on, ends the profile, returns the files written.
  Result<engine::RawProfile> profile(int iterations);
  Result<Memory> memory();
  Status freeze();
  Status thaw();
  // The last lines of the log, for messages.
  std::string log_tail(size_t lines = 3) const;

 private:
  struct State;
  explicit Worker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One canary in this process, over the given CPUs (the first two; all CPUs when empty).
Canary run_canary(const std::vector<int>& cpus = {}, bool memory = false);

// Where the hone-worker program is: $HONE_WORKER, beside this program, or the installation's libexec.
Result<fs::path> worker_program();

}  // namespace hone::worker
