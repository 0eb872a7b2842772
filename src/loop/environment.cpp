// SPDX-License-Identifier: Apache-2.0
#include "loop/environment.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "base/machine.h"
#include "engine/engine.h"

namespace hone::loop {

namespace {

// Variables that change how engines compute; everything else of the environment is left out (it may hold secrets).
constexpr std::array<const char*, 7> kVariables = {"OMP_NUM_THREADS",   "OMP_WAIT_POLICY",  "KMP_AFFINITY",
                                                   "GLIBC_TUNABLES",    "MALLOC_ARENA_MAX", "LD_PRELOAD",
                                                   "ONEDNN_MAX_CPU_ISA"};

std::string os_name() {
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PRETTY_NAME=\"") && line.ends_with('"')) return line.substr(13, line.size() - 14);
  return "unknown";
}

}  // namespace

std::string hone_version() { return HONE_VERSION; }

std::map<std::string, std::string> environment(const std::vector<std::string>& engines) {
  const MachineId machine = machine_id();
  std::map<std::string, std::string> out = {
      {"device", machine.cpu},
      {"cores", std::to_string(machine.cores)},
      {"cpu_features", fmt::format("{}", fmt::join(machine.features, " "))},
      {"memory", fmt::format("{:.1f} GB", static_cast<double>(machine.memory_bytes) / 1e9)},
      {"numa_nodes", std::to_string(machine.numa_nodes)},
      {"kernel", machine.kernel},
      {"governor", machine.governor},
      {"host", host_name()},
      {"os", os_name()},
      {"framework", engines.empty() ? "unknown" : engines.front()}};
  for (const std::string& id : engines) {
    const auto engine = engine::find_engine(id);
    if (!engine) continue;
    const engine::Capabilities capabilities = (*engine)->probe();
    out["engine." + id] = capabilities.available ? capabilities.version : "not available";
  }
  for (const char* name : kVariables)
    if (const char* value = std::getenv(name)) out[std::string("env.") + name] = value;
  return out;
}

}  // namespace hone::loop
