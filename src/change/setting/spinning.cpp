// spinning: whether idle worker threads of ONNX Runtime busy-wait for the next kernel. Without it a quiet machine is
// 8-36 % slower on most models (peers.md C1.2), so little is expected of it; with one thread it changes nothing.
// SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  if (setting_of(context.best, "intra_op_threads") == "1") {
    *why_not = "one thread has no idle others";
    return {};
  }
  return {
      set("intra_op_spinning", "off", "sleeping threads leave power and cache to the working one", {0.9, 1.02, 0.03})};
}

}  // namespace

const Change& spinning_change() {
  static const SettingChange change(
      {"spinning", Kind::kSetting, accuracy::Class::kExact, "idle threads spin -> idle threads sleep", {}},
      "onnxruntime", propose);
  return change;
}

}  // namespace hone::change
