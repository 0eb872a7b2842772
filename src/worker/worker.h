// Worker: one engine session in a process of its own (program hone-worker), driven over a socket pair by line JSON.
//
// Own session (setsid), PDEATHSIG = SIGKILL, memory and time limits; standard output and error go to a log file whose
// last lines explain a crash. A worker can be frozen (SIGSTOP) and thawed, so that the idle side of a comparison is
// quiet (measuring.md 1.2). Crash, hang and out-of-memory become Errors of kind kToolFailed / kTimedOut, after which
// the worker is dead and every further call says the same again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/engine.h"
#include "model/tensor.h"

namespace hone::worker {

struct Limits {
  std::chrono::milliseconds reply{120'000};  // longest silence: one block, or one inference of many
  int64_t memory_bytes = 0;                  // resident memory, watched; 0 = 80 % of the machine's memory
};

struct Options {
  engine::Configuration configuration;
  fs::path data;          // folder of sample_NNNN.npz, one .npz (one sample), or empty: one sample without inputs
  fs::path log;           // standard output and error of the worker are appended; empty = thrown away
  fs::path profile_dir;   // non-empty: open with the engine's profiler on
  std::vector<int> cpus;  // CPU affinity; empty = inherited
  uint64_t instance_seed = 0;
  Limits limits;
  std::function<bool()> cancelled;  // polled while waiting; true = the worker is killed, Error kInterrupted
};

// A canary: where the hypervisor has put our CPUs (measuring.md 1.1).
struct Canary {
  double ping_ns = 0;              // one way, cache line between two pinned threads; 0 with one CPU
  std::array<double, 2> fma_ms{};  // fixed FMA work on all CPUs at once: of the two CPUs, of many the two slowest
};

struct BlockRequest {
  double settle_ms = 20;
  int min_settle_iterations = 2;
  double timed_ms = 100;
  int min_iterations = 3;
  // The sample this block runs, modulo the number of samples. A block runs one sample: its lower quartile would
  // otherwise be that of the cheap samples only. Both blocks of a pair get the same one, so their ratio is a fair one;
  // successive pairs go round the samples, so all of them count. Binding happens before the settle, never in a timing.
  size_t sample = 0;
  bool keep_samples = false;  // return every iteration's time
};

struct BlockResult {
  int settle_iterations = 0, iterations = 0;
  double start_s = 0;  // CLOCK_MONOTONIC
  double timed_s = 0;  // wall time of the timed part
  // Milliseconds per inference over the timed iterations.
  double min = 0, q10 = 0, q25 = 0, q50 = 0, q75 = 0, q90 = 0, max = 0, mean = 0;
  std::vector<double> samples_ms;
  Canary before, after;  // filled in by who runs canaries (measure/): with the workers frozen, so undisturbed
  // Differences over the timed part. pressure = CPU PSI "some" share (0..1), -1 when the kernel has none; busy and
  // steal are those of the worker's CPUs (all CPUs for one that isn't pinned).
  double pressure = -1;
  double own_cpu_s = 0, busy_cpu_s = 0, steal_s = 0;
  double run_queue_wait_s = -1;  // of all threads; -1 when the kernel has no schedstat
  int64_t involuntary_switches = 0, minor_faults = 0;
  Json to_json() const;
  static Result<BlockResult> from_json(const Json& value);
};

struct Memory {
  int64_t peak_bytes = 0;      // VmHWM of the worker
  int64_t baseline_bytes = 0;  // RSS with the samples read, before the model was opened
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
  bool fake_clock() const;  // the engine brings its own clock: no canary, no counters, no real settle
  size_t sample_count() const;
  // Runs at least `ms` and `iterations`, untimed.
  Status warm_up(double ms, int iterations);
  Result<BlockResult> block(const BlockRequest& request);
  // Runs every sample once (the first `limit` of them when > 0) and writes the outputs to `folder`/sample_NNNN.npz.
  Status run_samples(const fs::path& folder, size_t limit = 0);
  // Runs `iterations` over the samples with the profiler on, ends the profile, returns the files written.
  Result<engine::RawProfile> profile(int iterations);
  // Read from outside: works on a frozen worker and does not wake it.
  Result<Memory> memory();
  // Freeze returns when all threads have stopped. Calls other than memory() need a thawed worker.
  Status freeze();
  Status thaw();

 private:
  struct State;
  explicit Worker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One canary in this process: a ring of pings and simultaneous FMA work over the given CPUs (those this thread may use
// when empty; the first 16 of many), about 0.7 ms with two. An Error when a thread can't be pinned to one of them.
Result<Canary> run_canary(const std::vector<int>& cpus = {});
// The CPUs the calling thread may use.
std::vector<int> usable_cpus();

// Where the hone-worker program is: $HONE_WORKER, beside this program, or the installation's libexec.
Result<fs::path> worker_program();

}  // namespace hone::worker
