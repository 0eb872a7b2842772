// memory: ONNX Runtime's memory pattern (one block planned per input shape) and arena. With changing shapes the pattern
// is planned again and again; the arena never gives memory back. SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  (void)context;
  return {set("memory_pattern", "off", "malloc reuses warm memory where the plan takes cold memory", {1.0, 1.05, 0.05}),
          set("memory_arena", "off", "malloc reuses warm memory where the arena takes cold memory", {1.0, 1.05, 0.05})};
}

}  // namespace

const Change& memory_change() {
  static const SettingChange change({"memory",
                                     Kind::kSetting,
                                     accuracy::Class::kExact,
                                     "planned memory -> memory from malloc",
                                     {"outside_kernel_time"}},
                                    "onnxruntime", propose);
  return change;
}

}  // namespace hone::change
