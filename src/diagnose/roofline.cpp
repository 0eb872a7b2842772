// SPDX-License-Identifier: Apache-2.0
// The roofs of a machine for so many threads (roofline.h).
#include "diagnose/roofline.h"

#include <algorithm>

namespace hone::diagnose {

Roofline::Roofline(const Machine& machine, int threads, double weight_bytes) : machine_(machine) {
  const int cores = std::max(1, machine.cores);
  const int used = threads <= 0 ? cores : std::min(threads, cores);
  share_of_cores_ = static_cast<double>(used) / cores;
  // Bandwidth of memory doesn't grow with cores in proportion: between one core's and all cores' figure.
  memory_gbs_ = machine.bandwidth_gbs;
  if (used < cores && machine.bandwidth_gbs_one > 0)
    memory_gbs_ = std::min(machine.bandwidth_gbs, machine.bandwidth_gbs_one * used);
  const Place place = place_of(weight_bytes);
  weights_place_ = place.name;
  weights_gbs_ = place.gbs;
}

Roofline::Place Roofline::place_of(double bytes) const {
  const double l2 = static_cast<double>(machine_.l2_bytes) * share_of_cores_ * std::max(1, machine_.cores);
  if (machine_.l2_bandwidth_gbs > 0 && bytes <= l2 / 2) return {"L2", machine_.l2_bandwidth_gbs * share_of_cores_};
  if (machine_.l3_bandwidth_gbs > 0 && bytes <= static_cast<double>(machine_.l3_bytes) / 2)
    return {"L3", machine_.l3_bandwidth_gbs * share_of_cores_};
  return {"memory", memory_gbs_};
}

double Roofline::peak(model::DType dtype) const {
  using model::DType;
  const double all = [&] {
    switch (dtype) {
      case DType::kBfloat16:
      case DType::kFloat16:  // the nearest figure there is: both are half the size
        return std::max(machine_.gflops_bf16, machine_.gflops_f32);
      case DType::kInt8:
      case DType::kUint8:
      case DType::kInt4:
      case DType::kUint4:
        return std::max(machine_.gops_int8, machine_.gflops_f32);
      case DType::kDouble:
        return machine_.gflops_f32 / 2;
      default:
        return machine_.gflops_f32;
    }
  }();
  // One core alone clocks higher than its share of all.
  const double one = machine_.gflops_f32_one > 0 && machine_.gflops_f32 > 0
                         ? all * machine_.gflops_f32_one / machine_.gflops_f32
                         : all * share_of_cores_;
  return share_of_cores_ >= 1 ? all : std::min(all, one * share_of_cores_ * machine_.cores);
}

double Roofline::compute_ms(double flops, model::DType dtype) const {
  const double gflops = peak(dtype);
  return flops > 0 && gflops > 0 ? flops / gflops * 1e-6 : 0;
}

double Roofline::weights_ms(double bytes) const {
  return bytes > 0 && weights_gbs_ > 0 ? bytes / weights_gbs_ * 1e-6 : 0;
}

double Roofline::data_ms(double bytes) const {
  const double gbs = place_of(bytes).gbs;
  return bytes > 0 && gbs > 0 ? bytes / gbs * 1e-6 : 0;
}

double Roofline::least_ms(const Cost& cost, model::DType dtype) const {
  if (cost.flops < 0 && cost.bytes < 0) return 0;
  const double moving =
      cost.bytes < 0 ? 0 : weights_ms(cost.weight_bytes) + data_ms(std::max(0.0, cost.bytes - cost.weight_bytes));
  return std::max(compute_ms(cost.flops, dtype), moving);
}

}  // namespace hone::diagnose
