// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/file.h"

namespace hone {

namespace {

// Of some 100 flags, those that engines pick kernels by.
constexpr std::array<std::string_view, 20> kFeatures = {
    "sse4_2",   "avx",         "f16c",     "fma",         "avx2",        "avx512f",  "avx512bw",
    "avx512vl", "avx512_vnni", "avx_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8",
    "amx_bf16", "amx_fp16",    "asimd",    "asimddp",     "bf16",        "i8mm"};

void read_cpuinfo(MachineId& machine) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name") && machine.cpu.empty()) machine.cpu = value;
    if ((line.starts_with("flags") || line.starts_with("Features")) && machine.features.empty()) {
      std::istringstream words(value);
      for (std::string word; words >> word;)
        for (std::string_view feature : kFeatures)
          if (word == feature) machine.features.push_back(word);
    }
  }
  if (machine.cpu.empty()) machine.cpu = "unknown";
}

// sysfs writes cache sizes as "2048K".
int64_t cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    if (first_line_of(folder + "/level") != std::to_string(level) || first_line_of(folder + "/type") == "Instruction")
      continue;
    const std::string size = first_line_of(folder + "/size");
    if (size.empty()) return 0;
    const int64_t number = std::atoll(size.c_str());
    return number * (size.back() == 'M' ? 1024 * 1024 : 1024);
  }
  return 0;
}

int count_numa_nodes() {
  int nodes = 0;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", code)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > 4 && name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos)
      ++nodes;
  }
  return nodes > 0 ? nodes : 1;
}

}  // namespace

MachineId machine_id() {
  MachineId machine;
  read_cpuinfo(machine);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  machine.cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed)
                                                                      : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  machine.l2_bytes = cache_bytes(2);
  machine.l3_bytes = cache_bytes(3);
  machine.numa_nodes = count_numa_nodes();
  utsname name{};
  if (uname(&name) == 0) machine.kernel = name.release;
  machine.governor = first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (machine.governor.empty()) machine.governor = "unknown";
  machine.boot_id = first_line_of("/proc/sys/kernel/random/boot_id");
  return machine;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace hone
