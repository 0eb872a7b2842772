// The micro-benchmark. oneDNN's kernels are generated for the processor at run time, so the figures do not depend on
// how hone was compiled; every thread runs its own kernel with oneDNN's OpenMP told to use one thread.
//
// A peak is the best of several short windows. Compute is counted per CPU second of the thread: another program that
// takes a core away doesn't lower it. Bandwidth is shared while it is measured, so it is counted per second of wall
// time, but when others take the cores away: then per CPU second too, with a note.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/peaks.h"

#include <omp.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <thread>

#include "base/clock.h"

namespace hone::diagnose {

namespace {

// A thing that can be done over and over by one thread; run() returns how much it did (operations or bytes).
class Work {
 public:
  virtual ~Work() = default;
  virtual double run() = 0;
};
using MakeWork = std::function<std::unique_ptr<Work>()>;

struct Rate {
  double per_cpu_second = 0, per_second = 0;  // summed over threads
  double cpu_share = 1;                       // smallest CPU time / wall time of a thread: below 1 = others ran
};

double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double wall_seconds() { return static_cast<double>(steady_clock().now_ns()) * 1e-9; }

constexpr int kWindows = 4;  // own choice: one to warm up, three to take the best of

// Runs `threads` copies of the work side by side for `seconds`; the best window of each figure.
Rate best_rate(int threads, double seconds, const MakeWork& make) {
  struct Sample {
    double done = 0, cpu = 0, wall = 0;
  };
  std::vector<std::array<Sample, kWindows>> samples(threads);
  std::vector<std::exception_ptr> failures(threads);
  std::barrier sync(threads);
  auto body = [&](int index) {
    omp_set_num_threads(1);
    std::unique_ptr<Work> work;
    try {
      work = make();
      work->run();
    } catch (...) {
      failures[index] = std::current_exception();
      work.reset();
    }
    for (int window = 0; window < kWindows; ++window) {
      sync.arrive_and_wait();
      if (work == nullptr) continue;
      const double wall = wall_seconds(), cpu = thread_cpu_seconds();
      Sample sample;
      do {
        sample.done += work->run();
        sample.wall = wall_seconds() - wall;
      } while (sample.wall < seconds / kWindows);
      sample.cpu = thread_cpu_seconds() - cpu;
      samples[index][window] = sample;
    }
  };
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(body, i);
  for (std::thread& thread : pool) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);

  Rate best{0, 0, 0};
  for (int window = 0; window < kWindows; ++window) {
    Rate rate;
    for (const auto& of_thread : samples) {
      const Sample& s = of_thread[window];
      rate.per_cpu_second += s.done / s.cpu;
      rate.per_second += s.done / s.wall;
      rate.cpu_share = std::min(rate.cpu_share, s.cpu / s.wall);
    }
    best.per_cpu_second = std::max(best.per_cpu_second, rate.per_cpu_second);
    best.per_second = std::max(best.per_second, rate.per_second);
    best.cpu_share = std::max(best.cpu_share, rate.cpu_share);
  }
  return best;
}

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// C = A x B of 512 x 512 x 512, weights in the layout oneDNN likes best: 1 MB each in f32, so all stays in L2 (own
// choice: 256 is 10 % lower in f32 with AVX-512, 1024 is the same).
class Product final : public Work {
 public:
  Product(Type a, Type b, Type c) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const Dims dims{kSize, kSize};
    const dnnl::memory::desc a_desc(dims, a, Tag::ab), any(dims, b, Tag::any), c_desc(dims, c, Tag::ab);
    const dnnl::matmul::primitive_desc desc({a_desc, any, c_desc}, engine_);
    primitive_ = dnnl::matmul(desc);
    a_ = filled(a_desc);
    b_ = filled(desc.weights_desc());
    c_ = filled(c_desc);
  }
  double run() override {
    primitive_.execute(stream_, {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}});
    stream_.wait();
    return 2.0 * kSize * kSize * kSize;
  }

 private:
  static constexpr int64_t kSize = 512;
  // 0x3f bytes are 0.747 in f32 and bf16 and 63 in int8: normal numbers (zeros would save power and clock higher).
  dnnl::memory filled(const dnnl::memory::desc& desc) {
    dnnl::memory memory(desc, engine_);
    std::fill_n(static_cast<char*>(memory.get_data_handle()), desc.get_size(), char{0x3f});
    return memory;
  }
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul primitive_;
  dnnl::memory a_, b_, c_;
};

// c = a + b over three arrays of `bytes` in total; counts the bytes read and written (the STREAM convention: the read
// of a line before it is overwritten is not counted).
class Stream final : public Work {
 public:
  explicit Stream(int64_t bytes) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const int64_t count = std::max<int64_t>(1024, bytes / 3 / 4 / 1024 * 1024);
    size_ = static_cast<size_t>(count) * 4;
    const dnnl::memory::desc desc({1, count}, Type::f32, Tag::ab);
    for (auto& part : memory_) part = dnnl::memory(desc, engine_, nullptr);
    block_ = mmap(nullptr, 3 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block_ == MAP_FAILED) throw std::bad_alloc();
    madvise(block_, 3 * size_, MADV_HUGEPAGE);  // a hint: fewer page faults
    std::fill_n(static_cast<char*>(block_), 3 * size_, char{0x3f});
    for (size_t i = 0; i < 3; ++i) memory_[i].set_data_handle(static_cast<char*>(block_) + i * size_);
    const dnnl::binary::desc add(dnnl::algorithm::binary_add, desc, desc, desc);
    primitive_ = dnnl::binary(dnnl::binary::primitive_desc(add, engine_));
  }
  ~Stream() override { munmap(block_, 3 * size_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  double run() override {
    primitive_.execute(stream_,
                       {{DNNL_ARG_SRC_0, memory_[0]}, {DNNL_ARG_SRC_1, memory_[1]}, {DNNL_ARG_DST, memory_[2]}});
    stream_.wait();
    return 3.0 * static_cast<double>(size_);
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::binary primitive_;
  std::array<dnnl::memory, 3> memory_;
  void* block_ = nullptr;
  size_t size_ = 0;
};

// Far more than L3 (STREAM asks for 4 times the last cache per array; streaming over 4 times in total leaves an LRU
// cache no hits), but at most an eighth of the memory, and what can be filled in a small part of the time.
int64_t memory_footprint(const Machine& m, double seconds) {
  const int64_t wanted = std::max<int64_t>(256 << 20, 4 * m.l3_bytes);
  return std::min({wanted, m.memory_bytes / 8, static_cast<int64_t>(seconds * (512 << 20))});
}

class Measurer {
 public:
  Measurer(Machine& machine, double seconds) : machine_(machine), slot_(seconds / 10) {}

  void compute(double& field, const char* what, int threads, Type a, Type b, Type c) {
    guarded(what, [&] {
      const Rate rate = best_rate(threads, slot_, [=] { return std::make_unique<Product>(a, b, c); });
      field = rate.per_cpu_second * 1e-9;
    });
  }

  void bandwidth(double& field, const char* what, int threads, int64_t bytes) {
    if (bytes <= 0) {
      machine_.notes.push_back(std::string(what) + ": the size of that cache is not known");
      return;
    }
    guarded(what, [&] {
      const Rate rate = best_rate(threads, slot_, [=] { return std::make_unique<Stream>(bytes / threads); });
      const bool disturbed = rate.cpu_share < 0.9;  // own choice
      field = (disturbed ? rate.per_cpu_second : rate.per_second) * 1e-9;
      busy_ = busy_ || disturbed;
    });
  }

  bool busy() const { return busy_; }

 private:
  template <class Body>
  void guarded(const char* what, const Body& body) {
    try {
      body();
    } catch (const std::exception& e) {  // dnnl::error: the processor can't do it
      machine_.notes.push_back(std::string(what) + " was not measured: " + e.what());
    }
  }
  Machine& machine_;
  double slot_;
  bool busy_ = false;
};

}  // namespace

Result<Machine> measure_machine(double seconds) {
  Machine m = describe_machine();
  Measurer measure(m, seconds);
  const int all = m.cores;
  measure.compute(m.gflops_f32_one, "float32 on one core", 1, Type::f32, Type::f32, Type::f32);
  measure.compute(m.gflops_f32, "float32", all, Type::f32, Type::f32, Type::f32);
  measure.compute(m.gflops_bf16, "bfloat16", all, Type::bf16, Type::bf16, Type::f32);
  measure.compute(m.gops_int8, "int8", all, Type::u8, Type::s8, Type::s32);
  const int64_t footprint = memory_footprint(m, seconds);
  measure.bandwidth(m.bandwidth_gbs, "memory bandwidth", all, footprint);
  measure.bandwidth(m.bandwidth_gbs_one, "memory bandwidth of one core", 1, footprint / 2);
  // Between the private caches and a quarter of the shared one, which has other users (own choice).
  measure.bandwidth(m.l3_bandwidth_gbs, "L3 bandwidth", all, std::min(m.l3_bytes / 4, 8 * m.l2_bytes * all));
  measure.bandwidth(m.l2_bandwidth_gbs, "L2 bandwidth", all, m.l2_bytes / 2 * all);
  if (footprint < 2 * m.l3_bytes) m.notes.push_back("memory bandwidth was measured over less than twice L3");
  if (measure.busy()) m.notes.push_back("measured while other programs used the cores: bandwidths are rough");
  if (m.gflops_f32 <= 0) return fail(tool_failed("no peak could be measured", {}, m.notes.front()));
  return m;
}

}  // namespace hone::diagnose
