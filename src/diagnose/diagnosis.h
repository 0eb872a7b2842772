// Diagnosis: findings computed from a Profile, the Model's shapes and the machine's peaks. Pure values.
//
// Each finding has an id, evidence, a priority P0-P2 and an upper bound of what fixing it can gain (Amdahl: the whole
// time over the time without the part). A finding never says more than its evidence.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace hone::diagnose {

// Peaks of this machine, measured once by `hone doctor` or the first Run and cached per CPU model (peaks.h).
struct Machine {
  std::string cpu;  // /proc/cpuinfo model name
  int cores = 0;
  std::vector<std::string> features;                      // "avx512f", "avx512_vnni", "amx_int8", ...
  double gflops_f32 = 0, gflops_bf16 = 0, gops_int8 = 0;  // all cores; 0 = not measured
  double gflops_f32_one = 0;                              // one core
  double bandwidth_gbs = 0, bandwidth_gbs_one = 0;        // main memory, by a triad over far more than L3
  double l3_bandwidth_gbs = 0, l2_bandwidth_gbs = 0;      // the same over what fits there; all cores
  int64_t memory_bytes = 0, l2_bytes = 0, l3_bytes = 0;   // l2: of one core; l3: all of it, shared
  std::vector<std::string> notes;                         // what could not be measured and why
  bool has_feature(std::string_view feature) const;
  Json to_json() const;
  static Result<Machine> from_json(const Json& value);
};

enum class Priority { kP0, kP1, kP2 };
std::string_view to_text(Priority priority);  // "P0"

struct Finding {
  std::string id;     // findings.def: "matmul_weights_float", "unfused_attention", ...
  std::string title;  // one line
  Priority priority = Priority::kP2;
  std::string evidence;            // numbers, and where they come from
  std::string direction;           // what can be done
  double share = 0;                // of the latency, 0..1
  double upper_bound = 1;          // speed-up of the whole model if the part cost nothing (or ran at its roof)
  std::vector<std::string> nodes;  // labels of model nodes
};

struct ClassTime {
  std::string name;  // MatMul, Conv, Attention, Norm, Elementwise, DataMovement, Other
  double ms = 0, share = 0;
  double flops = 0, bytes = 0;
};

struct OperatorTime {
  std::string node, type, klass;
  double ms = 0, share = 0;     // per inference
  double flops = 0, bytes = 0;  // -1 = not known
  double weight_bytes = 0;      // of `bytes`, constants of the model
  double roof_ms = 0;           // least time by the roofline; 0 = not known
  double efficiency = 0;        // roof_ms / ms
  std::string shapes;           // of the inputs, as the profile has them
};

struct Diagnosis {
  // One inference: the mean of the middle half of the profile's inferences (warm-up apart), a median whose parts add
  // up. With a latency measured without the profiler (Conditions): that one.
  double latency_ms = 0;
  double kernel_ms = 0;                           // union of kernels per inference
  double outside_ms = 0;                          // latency - kernel: framework, scheduling
  double profiled_ms = 0;                         // one inference while the profiler was on
  int64_t inferences = 0;                         // how many of the profile were used
  double mapped_share = 0;                        // of kernel time, whose node of the model is known
  double flops = 0, bytes = 0, weight_bytes = 0;  // per inference
  double roof_ms = 0;                             // roofline's least time for the whole model at f32
  std::vector<ClassTime> classes;
  std::vector<OperatorTime> operators;  // by time, descending
  std::vector<Finding> findings;        // by priority, then upper bound
  std::vector<std::string> notes;       // what limits the diagnosis: fused names, coarse clock, unknown shapes
  Machine machine;
  const Finding* find(std::string_view id) const;
  Json to_json() const;
  static Result<Diagnosis> from_json(const Json& value);
};

}  // namespace hone::diagnose
