// graph-optimization: ONNX Runtime's own optimizer level. "all" is the default and nearly always best (peers.md C1.16:
// its blocked layout wins 6-63 % on CNNs); "extended" avoids layout reorders around small convolutions.
// SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  const diagnose::Finding* reorders = context.diagnosis.find("side_effect_ops");
  return {set("graph_optimization", "extended", "without the blocked convolution layout there are no reorders",
              reorders != nullptr ? Expectation{1.0, reorders->upper_bound, 0.1} : Expectation{0.95, 1.02, 0.03})};
}

}  // namespace

const Change& graph_optimization_change() {
  static const SettingChange change({"graph-optimization",
                                     Kind::kSetting,
                                     accuracy::Class::kReassociating,
                                     "onnxruntime level all -> extended",
                                     {"side_effect_ops"}},
                                    "onnxruntime", propose);
  return change;
}

}  // namespace hone::change
