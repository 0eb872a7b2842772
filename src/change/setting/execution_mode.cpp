// execution-mode: run independent branches of the graph at the same time. It was 0.23-0.70 on every model of peers.md
// (C1.16) with 2 threads; it can pay with many cores and wide graphs of small kernels.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

// Own choice: below four cores the inter-op pool only takes cores from the intra-op pool.
constexpr int kLeastCores = 4;

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  if (context.diagnosis.machine.cores < kLeastCores) {
    *why_not = fmt::format("{} cores: two pools of threads would share them", context.diagnosis.machine.cores);
    return {};
  }
  return {set("execution_mode", "parallel", "independent branches run at the same time", {0.9, 1.5, 0.05})};
}

}  // namespace

const Change& execution_mode_change() {
  static const SettingChange change({"execution-mode",
                                     Kind::kSetting,
                                     accuracy::Class::kExact,
                                     "one operator after another -> independent branches in parallel",
                                     {"small_kernels"}},
                                    "onnxruntime", propose);
  return change;
}

}  // namespace hone::change
