// The words all reports share: one wording for a speed-up, a stop reason, a verdict, so that they never disagree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "run/record.h"

namespace hone::report {

std::string milliseconds(double ms);                   // "12.3 ms", "0.0792 ms"
std::string ratio(const measure::Interval& interval);  // "1.52 x [1.47, 1.57]"
std::string headline(const run::Record& record);       // "1.52 times as fast as the original ..." or "no change helped"
std::string stop_sentence(const run::Record& record);  // "budget: 240 s of 240 s used"
std::string gate_sentence(const accuracy::Report& report);      // "numeric gate passed on 12 real samples"
std::string verdict_word(const run::Trial& trial);              // "kept", "rolled back", "failed", ...
std::string smallest_gain_sentence(const run::Record& record);  // from the A/A
std::string escape_html(std::string_view text);
std::string escape_markdown_cell(std::string_view text);  // pipes and newlines
// The accuracy of the final best, from the last kept trial or the baseline.
const accuracy::Report* final_accuracy(const run::Record& record);
const diagnose::Diagnosis* diagnosis_before(const run::Record& record);
const diagnose::Diagnosis* diagnosis_after(const run::Record& record);

}  // namespace hone::report
