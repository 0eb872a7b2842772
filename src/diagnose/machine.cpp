// Machine: a description without measurements, and the JSON form. SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <algorithm>

#include "diagnose/peaks.h"

namespace hone::diagnose {

Machine describe_machine() {
  MachineId id = machine_id();
  Machine machine;
  machine.cpu = std::move(id.cpu);
  machine.cores = id.cores;
  machine.features = std::move(id.features);
  machine.memory_bytes = id.memory_bytes;
  machine.l2_bytes = id.l2_bytes;
  machine.l3_bytes = id.l3_bytes;
  return machine;
}

bool Machine::has_feature(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

Json Machine::to_json() const {
  return Json{{"schema", "hone.machine/1"},
              {"cpu", cpu},
              {"cores", cores},
              {"features", features},
              {"gflops_f32", gflops_f32},
              {"gflops_bf16", gflops_bf16},
              {"gops_int8", gops_int8},
              {"gflops_f32_one", gflops_f32_one},
              {"bandwidth_gbs", bandwidth_gbs},
              {"bandwidth_gbs_one", bandwidth_gbs_one},
              {"l3_bandwidth_gbs", l3_bandwidth_gbs},
              {"l2_bandwidth_gbs", l2_bandwidth_gbs},
              {"memory_bytes", memory_bytes},
              {"l2_bytes", l2_bytes},
              {"l3_bytes", l3_bytes},
              {"notes", notes}};
}

Result<Machine> Machine::from_json(const Json& value) {
  Machine m;
  m.cpu = HONE_TRY(json_field<std::string>(value, "cpu"));
  m.cores = HONE_TRY(json_field<int>(value, "cores"));
  m.features = HONE_TRY(json_field<std::vector<std::string>>(value, "features"));
  m.gflops_f32 = HONE_TRY(json_field<double>(value, "gflops_f32"));
  m.gflops_bf16 = HONE_TRY(json_field<double>(value, "gflops_bf16"));
  m.gops_int8 = HONE_TRY(json_field<double>(value, "gops_int8"));
  m.gflops_f32_one = HONE_TRY(json_field<double>(value, "gflops_f32_one"));
  m.bandwidth_gbs = HONE_TRY(json_field<double>(value, "bandwidth_gbs"));
  m.bandwidth_gbs_one = HONE_TRY(json_field<double>(value, "bandwidth_gbs_one"));
  m.l3_bandwidth_gbs = HONE_TRY(json_field<double>(value, "l3_bandwidth_gbs"));
  m.l2_bandwidth_gbs = HONE_TRY(json_field<double>(value, "l2_bandwidth_gbs"));
  m.memory_bytes = HONE_TRY(json_field<int64_t>(value, "memory_bytes"));
  m.l2_bytes = HONE_TRY(json_field<int64_t>(value, "l2_bytes"));
  m.l3_bytes = HONE_TRY(json_field<int64_t>(value, "l3_bytes"));
  m.notes = HONE_TRY(json_field<std::vector<std::string>>(value, "notes"));
  return m;
}

}  // namespace hone::diagnose
