// Verdict: kept / rolled back / failed, and the reason in one sentence. Pure functions of a Comparison and accuracy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "accuracy/accuracy.h"
#include "base/result.h"
#include "measure/measure.h"

namespace hone::verdict {

enum class Kind { kKept, kRolledBack, kFailed, kSkipped };
std::string_view to_text(Kind kind);  // "kept", "rolled_back", "failed", "skipped"
Result<Kind> kind_from(std::string_view text);

struct Verdict {
  Kind kind = Kind::kFailed;
  std::string reason;  // "1.27 x faster [1.21, 1.33], accuracy within the gate"
  bool noise = false;  // rolled back because the difference is noise
};

// The rule of product.md "Deciding" and "Accuracy gate".
Verdict judge(const measure::Comparison& comparison, const accuracy::Report& accuracy);
// A change that failed the accuracy gate is not measured.
Verdict inaccurate(const accuracy::Report& accuracy);
// An engine or tool that failed is a failed Trial.
Verdict failed(const Error& error);
// A Change that was not tried: "needs data: ...".
Verdict skipped(std::string reason);

}  // namespace hone::verdict
