// dynamic-block: ONNX Runtime splits a parallel loop into blocks that shrink towards the end, so that a core that was
// held up does not make the others wait (session.dynamic_block_base; its documentation names 4 as a good value).
// SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  if (context.diagnosis.machine.cores < 2 || setting_of(context.best, "intra_op_threads") == "1") {
    *why_not = "one thread has nothing to share out";
    return {};
  }
  return {set("dynamic_block_base", "4", "smaller last blocks balance the load between cores", {1.01, 1.1, 0.1})};
}

}  // namespace

const Change& dynamic_block_change() {
  static const SettingChange change({"dynamic-block",
                                     Kind::kSetting,
                                     accuracy::Class::kReassociating,
                                     "equal blocks per thread -> blocks that shrink",
                                     {}},
                                    "onnxruntime", propose);
  return change;
}

}  // namespace hone::change
