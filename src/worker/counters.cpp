// SPDX-License-Identifier: Apache-2.0
#include "worker/counters.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"

namespace hone::worker {

namespace {

// Files of /proc: read whole, without mapping (they have no size). Empty when it can't be read.
std::string read_proc(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  char buffer[16384];
  for (ssize_t n = 0; (n = ::read(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  ::close(file);
  return text;
}

double run_queue_wait() {
  DIR* folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return -1;
  double sum = 0;
  bool any = false;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const std::string text = read_proc(fmt::format("/proc/self/task/{}/schedstat", entry->d_name).c_str());
    const size_t space = text.find(' ');
    if (space == std::string::npos) continue;
    sum += std::strtod(text.c_str() + space, nullptr) * 1e-9;
    any = true;
  }
  ::closedir(folder);
  return any ? sum : -1;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

double parse_pressure(std::string_view text) {
  const size_t some = text.find("some ");
  if (some == std::string_view::npos) return -1;
  const size_t total = text.find("total=", some);
  if (total == std::string_view::npos) return -1;
  return std::strtod(std::string(text.substr(total + 6, 24)).c_str(), nullptr) * 1e-6;
}

bool parse_cpu_times(std::string_view stat, int cpu, double ticks_per_second, double* busy, double* steal) {
  const std::string name = cpu < 0 ? "cpu " : fmt::format("cpu{} ", cpu);
  size_t at = 0;
  while (stat.substr(at, name.size()) != name) {
    at = stat.find('\n', at);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  const std::string line(stat.substr(at + name.size(), stat.find('\n', at) - at - name.size()));
  double fields[8] = {};  // user nice system idle iowait irq softirq steal
  const char* from = line.c_str();
  for (double& field : fields) {
    char* end = nullptr;
    field = std::strtod(from, &end) / ticks_per_second;
    if (end == from) break;
    from = end;
  }
  *busy += fields[0] + fields[1] + fields[2] + fields[5] + fields[6];
  *steal += fields[7];
  return true;
}

Counters read_counters(const std::vector<int>& cpus) {
  Counters c;
  c.pressure_s = parse_pressure(read_proc("/proc/pressure/cpu"));
  c.run_queue_wait_s = run_queue_wait();
  const std::string stat = read_proc("/proc/stat");
  static const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (cpus.empty()) parse_cpu_times(stat, -1, ticks, &c.busy_cpu_s, &c.steal_s);
  for (const int cpu : cpus) parse_cpu_times(stat, cpu, ticks, &c.busy_cpu_s, &c.steal_s);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  c.own_cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  c.involuntary_switches = usage.ru_nivcsw;
  c.minor_faults = usage.ru_minflt;
  c.time_s = static_cast<double>(steady_clock().now_ns()) * 1e-9;
  return c;
}

void add_difference(const Counters& before, const Counters& after, BlockResult* block) {
  const double wall = after.time_s - before.time_s;
  if (before.pressure_s >= 0 && after.pressure_s >= 0 && wall > 0)
    block->pressure = std::clamp((after.pressure_s - before.pressure_s) / wall, 0., 1.);
  if (before.run_queue_wait_s >= 0 && after.run_queue_wait_s >= 0)
    block->run_queue_wait_s = std::max(0., after.run_queue_wait_s - before.run_queue_wait_s);
  block->own_cpu_s = after.own_cpu_s - before.own_cpu_s;
  block->busy_cpu_s = after.busy_cpu_s - before.busy_cpu_s;
  block->steal_s = after.steal_s - before.steal_s;
  block->involuntary_switches = after.involuntary_switches - before.involuntary_switches;
  block->minor_faults = after.minor_faults - before.minor_faults;
}

}  // namespace hone::worker
