// SPDX-License-Identifier: Apache-2.0
#include "measure/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/file.h"
#include "worker/worker.h"

namespace hone::measure {

namespace {

int number_or(const std::string& text, int fallback) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : fallback;
}

template <class Key>
int count_distinct(const std::vector<CpuSeat>& cpus, Key key) {
  std::set<decltype(key(cpus[0]))> seen;
  for (const auto& cpu : cpus) seen.insert(key(cpu));
  return static_cast<int>(seen.size());
}

// One CPU of each core of the group, lowest first.
std::vector<int> one_per_core(const std::vector<CpuSeat>& group) {
  std::set<std::pair<int, int>> seen;
  std::vector<int> cpus;
  for (const auto& seat : group)
    if (seen.insert({seat.package, seat.core}).second) cpus.push_back(seat.cpu);
  return cpus;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string part(text.substr(0, comma));
    int first = 0, last = 0;
    const int fields = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (fields == 1) last = first;
    if (fields >= 1)
      for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return cpus;
}

Topology read_topology(const std::vector<int>& cpus, const fs::path& sysfs) {
  Topology topology;
  std::map<int, int> node_of;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(sysfs / "node", code)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("node", 0) != 0) continue;
    for (const int cpu : parse_cpu_list(first_line_of(entry.path() / "cpulist")))
      node_of[cpu] = number_or(name.substr(4), 0);
  }
  for (const int cpu : cpus) {
    const fs::path folder = sysfs / "cpu" / fmt::format("cpu{}", cpu);
    CpuSeat seat;
    seat.cpu = cpu;
    seat.package = number_or(first_line_of(folder / "topology/physical_package_id"), 0);
    seat.core = number_or(first_line_of(folder / "topology/core_id"), cpu);
    const auto sharing = parse_cpu_list(first_line_of(folder / "cache/index3/shared_cpu_list"));
    seat.l3 = sharing.empty() ? 0 : sharing.front();
    seat.node = node_of.count(cpu) ? node_of[cpu] : 0;
    topology.cpus.push_back(seat);
  }
  return topology;
}

int Topology::cores() const {
  return count_distinct(cpus, [](const CpuSeat& s) { return std::pair(s.package, s.core); });
}
int Topology::l3_domains() const {
  return count_distinct(cpus, [](const CpuSeat& s) { return s.l3; });
}
int Topology::nodes() const {
  return count_distinct(cpus, [](const CpuSeat& s) { return s.node; });
}

Json Topology::to_json() const {
  return {{"cpus", cpus.size()},
          {"cores", cores()},
          {"l3_domains", l3_domains()},
          {"numa_nodes", nodes()},
          {"virtual_machine", virtual_machine}};
}

std::vector<int> cpus_for(int threads) {
  return threads <= 0 ? std::vector<int>() : cpus_for(threads, read_topology(worker::usable_cpus()));
}

std::vector<int> cpus_for(int threads, const Topology& topology) {
  if (threads <= 0 || static_cast<int>(topology.cpus.size()) <= threads) return {};
  std::vector<int> cpus = pin_set(topology, threads);
  for (size_t i = 0; static_cast<int>(cpus.size()) < threads; ++i) cpus.push_back(topology.cpus[i].cpu);
  return cpus;
}

std::vector<int> pin_set(const Topology& topology, int threads) {
  const auto best_group = [&](auto key) {
    std::map<int, std::vector<CpuSeat>> groups;
    for (const auto& seat : topology.cpus) groups[key(seat)].push_back(seat);
    std::vector<int> best;
    for (const auto& [id, group] : groups) {
      auto cpus = one_per_core(group);
      if (static_cast<int>(cpus.size()) >= threads && (best.empty() || cpus.size() < best.size()))
        best = std::move(cpus);
    }
    return best;
  };
  std::vector<int> cpus = best_group([](const CpuSeat& s) { return s.l3; });
  if (cpus.empty()) cpus = best_group([](const CpuSeat& s) { return s.node; });
  if (cpus.empty()) cpus = best_group([](const CpuSeat&) { return 0; });
  if (static_cast<int>(cpus.size()) > threads) cpus.resize(static_cast<size_t>(threads));
  return cpus;
}

}  // namespace hone::measure
