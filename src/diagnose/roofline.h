// Roofline: the least time an operator can take on this machine: the larger of FLOPs over peak and bytes over bandwidth
// (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009).
//
// The bandwidth is that of the place where the data can be at best. Weights: of the whole model, since each inference
// walks over all of them; activations: of the operator, since the one before has just written them. A place is thought
// to hold half its size (own choice: code, stack and other users need some; a cache is not perfectly shared).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "diagnose/cost.h"
#include "diagnose/diagnosis.h"

namespace hone::diagnose {

class Roofline {
 public:
  // `weight_bytes`: of the whole model, per inference. `threads`: 0 = all cores.
  Roofline(const Machine& machine, int threads, double weight_bytes);
  // Milliseconds; 0 when the cost or the peak is not known.
  double least_ms(const Cost& cost, model::DType dtype) const;
  double compute_ms(double flops, model::DType dtype) const;
  double weights_ms(double bytes) const;  // reading constants
  double data_ms(double bytes) const;     // reading and writing activations, this many at once
  // Operations per second / 1e9 at this type; 0 = not measured.
  double peak(model::DType dtype) const;
  double memory_gbs() const { return memory_gbs_; }
  std::string_view weights_place() const { return weights_place_; }  // "memory", "L3", "L2"
  double weights_gbs() const { return weights_gbs_; }

 private:
  struct Place {
    std::string_view name;
    double gbs = 0;
  };
  Place place_of(double bytes) const;
  const Machine& machine_;
  double share_of_cores_ = 1;
  double memory_gbs_ = 0;
  std::string_view weights_place_;
  double weights_gbs_ = 0;
};

}  // namespace hone::diagnose
