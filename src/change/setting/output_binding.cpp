// output-binding: outputs are written into buffers allocated once instead of new ones for every inference. Saves the
// allocation and page faults of large outputs; nothing for small ones.
// SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  const diagnose::Finding* outside = context.diagnosis.find("outside_kernel_time");
  return {set("output_binding", "on", "kept buffers cost no allocation and no page faults",
              outside != nullptr ? Expectation{1.03, outside->upper_bound, 0.3} : Expectation{1.005, 1.03, 0.1})};
}

}  // namespace

const Change& output_binding_change() {
  static const SettingChange change({"output-binding",
                                     Kind::kSetting,
                                     accuracy::Class::kExact,
                                     "new output buffers every time -> outputs bound to kept buffers",
                                     {"outside_kernel_time"}},
                                    "onnxruntime", propose);
  return change;
}

}  // namespace hone::change
