// huge-pages: glibc asks the kernel for 2 MiB pages for its heap, so weights need 512 times fewer TLB entries.
// Measured 1.067 [1.041, -] and 1.075 [1.037, -] on a weight-bound decoder of 53 MB, 1.00-1.01 on others; session
// creation got faster too (measuring.md 1.4). Same kernels, same order: exact.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

// Below this the weights fit in what 1.5-2 thousand entries for 4 KiB pages reach.
constexpr double kLeastWeightBytes = 8e6;

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  const double bytes = context.diagnosis.weight_bytes;
  if (bytes < kLeastWeightBytes) {
    *why_not = fmt::format("the weights are {:.1f} MB; below 8 MB TLB reach is not the limit", bytes / 1e6);
    return {};
  }
  const bool bound = context.diagnosis.find("weight_bandwidth_bound") != nullptr;
  return {set("process.huge_pages", "on", "weights in 2 MiB pages need fewer TLB entries",
              bound ? Expectation{1.07, 1.15, 0.7} : Expectation{1.01, 1.05, 0.15})};
}

}  // namespace

const Change& huge_pages_change() {
  static const SettingChange change({"huge-pages",
                                     Kind::kSetting,
                                     accuracy::Class::kExact,
                                     "weights in 4 KiB pages -> in 2 MiB pages",
                                     {"weight_bandwidth_bound"}},
                                    "", propose);
  return change;
}

}  // namespace hone::change
