// Choose: which open proposal is tried next. Pure: a function of what the Changes propose and what the journal says
// happened, so the same Run makes the same choices, also after a resume.
//
// value = chance x gain / cost. The gain is the prediction from the diagnosis; the chance starts at the Change's own
// and is updated by the verdicts so far: of the same change, of the same finding, of the same kind (a Beta prior). A
// setting is screened first (2 instance pairs): the screen replaces its prediction, and one that can't reach 3 % is
// left out without a trial.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "loop/lab.h"
#include "run/record.h"

namespace hone::loop {

// A proposal that is not tried and gets a Trial that says so.
struct Skip {
  Candidate candidate;
  std::string reason;
};

struct Choice {
  std::vector<run::Planned> open;      // best first
  std::vector<run::Planned> left_out;  // screened: can't reach the minimum effect
  std::vector<Candidate> to_screen;    // settings that no screen has looked at, when there are several
  std::vector<Skip> skip;              // lossy without data, ...; not yet in the journal
};

Choice choose(const std::vector<Candidate>& proposed, const run::Record& record);

// The chance of `candidate` after what happened to trials like it.
double updated_chance(double prior, const Candidate& candidate, const run::Record& record);
// chance x gain / cost, in log ratio per second.
double value_of(const change::Proposal& proposal, double chance);
// True when this proposal was tried on the engine of the current best, and nothing since makes it worth another try.
bool closed(const Candidate& candidate, const run::Record& record);

}  // namespace hone::loop
