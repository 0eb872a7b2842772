// The class of compute kernels that takes most of the time, beside its roofline. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "diagnose/facts.h"

namespace hone::diagnose {

struct Dominant {
  OperatorClass klass = OperatorClass::kOther;
  double ms = 0, roof_ms = 0, flops = 0, bytes = 0;  // of the rows whose roof is known
  std::vector<size_t> rows;                          // those, by time
  double efficiency() const { return ms > 0 ? roof_ms / ms : 0; }
};

// Among MatMul, Conv, Attention and Recurrent: where FLOPs are, a roof means something.
std::optional<Dominant> dominant_class(const Facts& facts);
std::string describe(const Dominant& dominant, const Facts& facts);

}  // namespace hone::diagnose
