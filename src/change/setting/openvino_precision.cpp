// openvino-precision: let OpenVINO compute in bfloat16 or float16 where the CPU has instructions for it. 1.3-3.0 x in
// peers.md C2, with relative errors of 6e-4 to 0.35: lossy, so it needs real data and the gate decides.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

std::vector<Proposal> propose(const Context& context, [[maybe_unused]] std::string* why_not) {
  const auto& features = context.diagnosis.machine.features;
  auto has = [&](std::string_view name) { return std::find(features.begin(), features.end(), name) != features.end(); };
  std::vector<Proposal> proposals;
  if (has("amx_bf16"))
    proposals.push_back(set("inference_precision", "bf16", "the CPU multiplies bfloat16 tiles (AMX)", {2.5, 6, 0.5}));
  else if (has("avx512_bf16"))
    proposals.push_back(
        set("inference_precision", "bf16", "the CPU has bfloat16 dot products (AVX512_BF16)", {1.8, 3.5, 0.5}));
  if (has("amx_fp16") || has("avx512_fp16"))
    proposals.push_back(set("inference_precision", "f16", "the CPU computes in float16 (AVX512_FP16)", {1.5, 4, 0.5}));
  for (Proposal& p : proposals) p.cost_seconds = 15;
  if (proposals.empty()) *why_not = "the CPU has no bfloat16 or float16 arithmetic";
  return proposals;
}

}  // namespace

const Change& openvino_precision_change() {
  static const SettingChange change({"openvino-precision",
                                     Kind::kSetting,
                                     accuracy::Class::kLossy,
                                     "float32 -> bfloat16 or float16 arithmetic",
                                     {"matmul_weights_float", "conv_float"}},
                                    "openvino", propose);
  return change;
}

}  // namespace hone::change
