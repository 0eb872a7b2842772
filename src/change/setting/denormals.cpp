// denormals: treat subnormal numbers (below 1.2e-38) as zero. x86 handles them in microcode, about 100 times slower
// than normal ones; networks with decaying states or tiny weights can meet many. SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  const diagnose::Finding* finding = context.diagnosis.find("denormals");
  return {set("denormals_as_zero", "on", "arithmetic on subnormal numbers is done in microcode",
              finding != nullptr ? Expectation{1.1, finding->upper_bound, 0.5} : Expectation{1.0, 1.03, 0.03})};
}

}  // namespace

const Change& denormals_change() {
  static const SettingChange change(
      {"denormals", Kind::kSetting, accuracy::Class::kReassociating, "subnormal numbers -> zero", {"denormals"}},
      "onnxruntime", propose);
  return change;
}

}  // namespace hone::change
