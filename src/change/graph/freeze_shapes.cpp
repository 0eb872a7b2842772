// freeze-shapes: the inputs get the dimensions the Protocol measures with, and what that makes constant is folded.
// Fixed dimensions let engines plan memory and pick kernels: 1.10-1.13 x on a VAE, a recogniser and a decoder
// (peers.md C2, ort_freedim). The model then takes only these shapes, and the report says so.
// SPDX-License-Identifier: Apache-2.0
#include "change/graph/graph_change.h"

namespace hone::change {

const Change& freeze_shapes_change() {
  static const GraphChange change({"freeze-shapes",
                                   Kind::kGraph,
                                   accuracy::Class::kExact,
                                   "open dimensions -> the Protocol's, with constants folded",
                                   {"dynamic_shapes_fixed_data", "constant_shape_arithmetic"}},
                                  exact_rules(), /*freeze=*/true, /*chance=*/0.35);
  return change;
}

}  // namespace hone::change
