// Ablation: at the end each kept Change is removed once, and dropped when it no longer pays beside the others. Pure
// parts; the loop does the measuring.
//
// The question "does X still pay?" is the one a Trial asks: best without X is A, best is B, and the same rule decides.
// In the journal a Trial is always "this one (B) beside its parent (A)", so the comparison is stored turned around.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "measure/measure.h"
#include "run/record.h"
#include "verdict/verdict.h"

namespace hone::loop {

// The next kept Change of the best that is worth removing once: not the last one kept (its own Trial has just measured
// it on top of all others), not one that was removed before, and not an engine whose settings were changed since or
// that went back to the original model: without it the rewrites for the engine before would be missing.
std::optional<std::string> next_to_remove(const run::Record& record);
change::Proposal removal_of(const std::string& key, const run::Record& record);

// B beside A, when A beside B was measured: what the same rule says of the same blocks. turned(turned(c)) is c.
measure::Comparison turned(const measure::Comparison& comparison);

// `comparison`: without X (B) beside best (A), as it is stored. Kept = X is dropped. Decided is the question that was
// measured: best (B) beside without X (A).
verdict::Verdict judge_removal(const measure::Comparison& comparison, const accuracy::Report& accuracy,
                               const std::string& removed);

}  // namespace hone::loop
