// SPDX-License-Identifier: Apache-2.0
#include "measure/worker_blocks.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/check.h"
#include "measure/coordinator.h"

namespace hone::measure {

namespace {

// A fresh instance runs so long before it is measured: allocator, page faults (measuring.md section 3).
constexpr double kWarmUpMs = 20;
constexpr int kWarmUpIterations = 2;

struct ProcessTime {
  std::string name;
  double cpu_seconds = 0;
};

// Name and CPU time of a process, from /proc/PID/stat. False: it is gone.
bool read_process_time(int pid, ProcessTime* out) {
  std::FILE* file = std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re");
  if (file == nullptr) return false;
  char buffer[1024];
  const size_t n = std::fread(buffer, 1, sizeof buffer - 1, file);
  std::fclose(file);
  const std::string_view text(buffer, n);
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos) return false;
  out->name = std::string(text.substr(open + 1, close - open - 1));
  unsigned long user = 0, system = 0;
  const std::string rest(text.substr(close + 1));
  if (std::sscanf(rest.c_str(), " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
    return false;
  out->cpu_seconds = static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return true;
}

std::map<int, ProcessTime> all_process_times() {
  std::map<int, ProcessTime> out;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return out;
  while (const dirent* entry = ::readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    ProcessTime time;
    if (pid > 0 && read_process_time(pid, &time)) out[pid] = std::move(time);
  }
  ::closedir(folder);
  return out;
}

}  // namespace

WorkerBlocks::WorkerBlocks(const engine::Configuration& a, const engine::Configuration& b, const Bench& bench,
                           const worker::BlockRequest& request)
    : configurations_{a, b}, bench_(bench), request_(request), cpus_(bench.cpus) {
  for (const auto& [pid, time] : all_process_times()) cpu_seconds_[pid] = time.cpu_seconds;
  foreign_since_s_ = now_s();
}

Status WorkerBlocks::start(char side, int pair) {
  worker::Options options;
  options.configuration = configurations_[side == 'B'];
  options.data = bench_.data;
  if (!bench_.log_dir.empty()) options.log = bench_.log_dir / fmt::format("worker_{}.log", side);
  options.cpus = cpus_;
  options.instance_seed = instance_seed(bench_.seed, pair, side);
  options.limits = bench_.limits;
  options.cancelled = bench_.progress.cancelled;
  worker(side) = HONE_TRY(worker::Worker::start(options));
  real_clock_ = !worker(side)->fake_clock();
  HONE_TRY(worker(side)->warm_up(kWarmUpMs, kWarmUpIterations));
  return worker(side)->freeze();
}

Result<worker::BlockResult> WorkerBlocks::block(char side, size_t sample) {
  worker::BlockRequest request = request_;
  request.sample = sample;
  worker::Canary before;
  if (real_clock_) before = HONE_TRY(canary());
  HONE_TRY(worker(side)->thaw());
  worker::BlockResult block = HONE_TRY(worker(side)->block(request));
  HONE_TRY(worker(side)->freeze());
  if (real_clock_) block.after = HONE_TRY(canary());
  block.before = before;
  return block;
}

void WorkerBlocks::stop() {
  for (auto& worker : workers_) worker.reset();
}

const worker::Worker& WorkerBlocks::running(char side) const {
  const auto& worker = workers_[side == 'B'];
  HONE_CHECK(worker != nullptr, "side {}", side);
  return *worker;
}

int WorkerBlocks::pid(char side) const { return running(side).pid(); }
double WorkerBlocks::open_seconds(char side) const { return running(side).open_seconds(); }
Result<int64_t> WorkerBlocks::peak_bytes(char side) { return HONE_TRY(worker(side)->memory()).peak_bytes; }

// Called between instance pairs, when no worker of ours runs: what used CPU since then and still lives is foreign.
ForeignLoad WorkerBlocks::foreign_load() {
  const auto now = all_process_times();
  const double seconds = std::max(now_s() - foreign_since_s_, 1e-3);
  ForeignLoad load;
  std::map<int, double> latest;
  for (const auto& [pid, time] : now) {
    latest[pid] = time.cpu_seconds;
    const auto earlier = cpu_seconds_.find(pid);
    const double used = time.cpu_seconds - (earlier == cpu_seconds_.end() ? 0 : earlier->second);
    if (pid == ::getpid() || used / seconds <= load.cpus) continue;
    load = {used / seconds, time.name};
  }
  cpu_seconds_ = std::move(latest);
  foreign_since_s_ = now_s();
  return load;
}

double WorkerBlocks::now_s() { return static_cast<double>(steady_clock().now_ns()) * 1e-9; }

void WorkerBlocks::sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace hone::measure
