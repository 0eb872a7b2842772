// The canary: finds out which physical cores stand behind our virtual CPUs at this moment.
//
// Two pinned threads bounce one cache line: two cores that share an L3 take 30..45 ns one way, cores in different L3
// domains 160..190 ns. Both then do the same fixed FMA work at once: two hyper-threads of one core take twice as long
// (measuring.md 1.1). Threads spin on a barrier before each part, so that the parts overlap: without it the sibling
// place is missed. Run it while the workers are frozen: a spinning thread pool would take the CPU from it.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/statistics.h"
#include "worker/worker.h"

namespace hone::worker {

namespace {

constexpr size_t kMostCpus = 16;
constexpr int kBatches = 10, kRoundTripsPerBatch = 50;  // 500 round trips; the median batch survives an interrupt
constexpr int kFmaRounds = 125'000;                     // about 0.5 ms at 3 GHz

using Lanes __attribute__((vector_size(16))) = float;

// Multiply-adds with twelve independent chains: bound by the floating-point units, which two hyper-threads share.
float fma_work(int rounds) {
  const Lanes scale = {.9999f, .9998f, .9997f, .9996f}, shift = {1e-4f, 2e-4f, 3e-4f, 4e-4f};
  Lanes a0 = shift, a1 = scale, a2 = shift, a3 = scale, a4 = shift, a5 = scale;
  Lanes b0 = scale, b1 = shift, b2 = scale, b3 = shift, b4 = scale, b5 = shift;
  for (int i = 0; i < rounds; ++i) {
    a0 = a0 * scale + shift, a1 = a1 * scale + shift, a2 = a2 * scale + shift;
    a3 = a3 * scale + shift, a4 = a4 * scale + shift, a5 = a5 * scale + shift;
    b0 = b0 * scale + shift, b1 = b1 * scale + shift, b2 = b2 * scale + shift;
    b3 = b3 * scale + shift, b4 = b4 * scale + shift, b5 = b5 * scale + shift;
  }
  const Lanes sum = a0 + a1 + a2 + a3 + a4 + a5 + b0 + b1 + b2 + b3 + b4 + b5;
  return sum[0] + sum[1] + sum[2] + sum[3];
}

// A barrier that spins: all leave it within a cache miss of each other.
class SpinBarrier {
 public:
  explicit SpinBarrier(int count) : count_(count) {}
  void wait() {
    const int round = round_.load();
    if (arrived_.fetch_add(1) + 1 == count_) {
      arrived_.store(0);
      round_.store(round + 1);
    } else {
      while (round_.load(std::memory_order_acquire) == round) {
      }
    }
  }

 private:
  const int count_;
  alignas(128) std::atomic<int> arrived_{0};
  alignas(128) std::atomic<int> round_{0};
};

struct Ring {
  explicit Ring(const std::vector<int>& cpu_list)
      : cpus(cpu_list), barrier(static_cast<int>(cpu_list.size())), fma_ms(cpu_list.size()) {}
  const std::vector<int>& cpus;
  SpinBarrier barrier;
  alignas(128) std::atomic<int> line{0};
  alignas(128) std::atomic<int> failure{0};
  std::vector<double> fma_ms;
  std::vector<double> ping_ns;  // written by the first thread of each edge, one after the other
  std::atomic<float> sink{0};
};

void ping(Ring& ring, bool leads) {
  std::vector<double> batches;
  int next = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    const int64_t start = steady_clock().now_ns();
    for (int trip = 0; trip < kRoundTripsPerBatch; ++trip, next += 2) {
      if (leads) {
        ring.line.store(next + 1, std::memory_order_release);
        while (ring.line.load(std::memory_order_acquire) != next + 2) {
        }
      } else {
        while (ring.line.load(std::memory_order_acquire) != next + 1) {
        }
        ring.line.store(next + 2, std::memory_order_release);
      }
    }
    const int64_t took = steady_clock().now_ns() - start;
    if (leads) batches.push_back(static_cast<double>(took) / (2. * kRoundTripsPerBatch));
  }
  if (leads) ring.ping_ns.push_back(median_of(std::move(batches)));
}

void canary_thread(Ring& ring, size_t index) {
  const size_t count = ring.cpus.size();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(ring.cpus[index], &set);
  if (const int code = ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set); code != 0) ring.failure = code;
  // Every pair of neighbours in turn; two CPUs have one pair, not two.
  const size_t edges = count < 2 ? 0 : (count == 2 ? 1 : count);
  for (size_t edge = 0; edge < edges; ++edge) {
    ring.barrier.wait();
    if (index == 0) ring.line.store(0);
    ring.barrier.wait();
    if (index == edge) ping(ring, true);
    if (index == (edge + 1) % count) ping(ring, false);
  }
  ring.barrier.wait();
  const int64_t start = steady_clock().now_ns();
  ring.sink.store(fma_work(kFmaRounds), std::memory_order_relaxed);
  ring.fma_ms[index] = static_cast<double>(steady_clock().now_ns() - start) * 1e-6;
}

}  // namespace

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

Result<Canary> run_canary(const std::vector<int>& wanted) {
  std::vector<int> cpus = wanted.empty() ? usable_cpus() : wanted;
  if (cpus.size() > kMostCpus) cpus.resize(kMostCpus);
  for (const int cpu : cpus)
    if (cpu < 0 || cpu >= CPU_SETSIZE) return fail(bad_input("no such CPU", std::to_string(cpu)));
  Ring ring(cpus);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cpus.size(); ++i) threads.emplace_back(canary_thread, std::ref(ring), i);
  for (auto& thread : threads) thread.join();
  if (ring.failure != 0)
    return fail(bad_input(fmt::format("can't run on all of the CPUs ({})", std::strerror(ring.failure)),
                          fmt::format("CPUs {}..{}", cpus.front(), cpus.back()), "give CPUs this process may use"));
  Canary canary;
  if (!ring.ping_ns.empty()) canary.ping_ns = *std::max_element(ring.ping_ns.begin(), ring.ping_ns.end());
  // Two hyper-threads of one core are slow together: so of many CPUs the two slowest tell.
  if (cpus.size() > 2) std::sort(ring.fma_ms.begin(), ring.fma_ms.end());
  canary.fma_ms = {ring.fma_ms[cpus.size() > 1 ? cpus.size() - 2 : 0], ring.fma_ms.back()};
  return canary;
}

}  // namespace hone::worker
