// openvino-streams: OpenVINO's scheduling hints. "latency" gives one request all cores; streams trade latency for
// throughput, so only the hint and the pinning of threads are proposed.
// SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  (void)context;
  return {
      set("performance_hint", "throughput", "the plugin picks other tilings and stream pinning", {1.01, 1.15, 0.05}),
      set("enable_cpu_pinning", "on", "threads that stay on a core keep its cache", {1.01, 1.15, 0.1})};
}

}  // namespace

const Change& openvino_streams_change() {
  static const SettingChange change({"openvino-streams",
                                     Kind::kSetting,
                                     accuracy::Class::kReassociating,
                                     "OpenVINO's default scheduling -> hints",
                                     {}},
                                    "openvino", propose);
  return change;
}

}  // namespace hone::change
