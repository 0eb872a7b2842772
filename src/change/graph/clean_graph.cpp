// clean-graph: every exact rewrite at once: folded constants, no identities, no dead or duplicate nodes. onnxsim alone
// gave 1.37 x on a small decoder whose shape arithmetic was exported as nodes, 0.95-1.08 on other models (peers.md C2).
// SPDX-License-Identifier: Apache-2.0
#include "change/graph/graph_change.h"

namespace hone::change {

const Change& clean_graph_change() {
  static const GraphChange change(
      {"clean-graph", Kind::kGraph, accuracy::Class::kExact,
       "constants as nodes, identities, duplicates -> none of them", findings_of(exact_rules())},
      exact_rules());
  return change;
}

}  // namespace hone::change
