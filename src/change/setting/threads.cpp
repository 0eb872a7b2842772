// threads: how many threads work on one operator. The default is one per core; fewer lose less to synchronisation when
// kernels are short. peers.md C2: one of two threads gave 0.53-0.77 on kernels that fill both cores and 1.10 on a model
// bound by overhead; measuring.md 1.1 saw two threads slower than one where the cores are far apart.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  const int machine = context.diagnosis.machine.cores;
  const int cores = context.threads > 0 ? std::min(machine, context.threads) : machine;  // that the workers may use
  const std::string id = context.best.engine == "openvino" ? "inference_num_threads" : "intra_op_threads";
  if (cores < 2) *why_not = "there is one core to run on";
  const bool short_kernels =
      context.diagnosis.find("small_kernels") != nullptr || context.diagnosis.find("outside_kernel_time") != nullptr;
  const Expectation expectation = short_kernels ? Expectation{1.08, 1.5, 0.35} : Expectation{1.0, 1.1, 0.05};
  std::vector<Proposal> proposals;
  for (int count : std::set<int>{1, cores / 2, cores * 3 / 4}) {
    if (count < 1 || count >= cores) continue;
    proposals.push_back(set(id, std::to_string(count),
                            fmt::format("{} of {} threads lose less time to synchronisation", count, cores),
                            expectation));
  }
  return proposals;
}

}  // namespace

const Change& threads_change() {
  static const SettingChange change({"threads",
                                     Kind::kSetting,
                                     accuracy::Class::kReassociating,
                                     "one thread per core -> fewer threads",
                                     {"small_kernels", "outside_kernel_time"}},
                                    "", propose);
  return change;
}

}  // namespace hone::change
