// GraphChange: a Change that rewrites the model by a set of rules, after freezing shapes where it is told to.
//
// Sets of rules (clean-graph, fuse-graph, freeze-shapes) are Changes because small rewrites that each gain under the
// noise can pay together; every fusion alone is a Change too, so that a set that loses is taken apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "change/change.h"
#include "change/rewrite/driver.h"

namespace hone::change {

class GraphChange final : public Change {
 public:
  GraphChange(ChangeInfo info, std::vector<const Rule*> rules, bool freeze = false, double chance = 0.3)
      : info_(std::move(info)), rules_(std::move(rules)), freeze_(freeze), chance_(chance) {}
  const ChangeInfo& info() const override { return info_; }
  std::vector<Proposal> propose(const Context& context, std::string* why_not) const override;
  Result<Applied> apply(const Proposal& proposal, const Context& context, const fs::path& folder) const override;

 private:
  struct Rewritten {
    model::Model model;
    RewriteReport report;
    size_t frozen = 0;  // inputs that got fixed dims
  };
  // Why it is never proposed for this engine and these inputs; empty: look at the model.
  std::string why_never(const Context& context) const;
  Proposal proposal_of(const Rewritten& tried, const Context& context) const;
  // Of the findings that the rules that fired answer, the one that promises most.
  std::string finding_answered(const Rewritten& tried, const diagnose::Diagnosis& diagnosis) const;
  Result<Rewritten> rewritten(const Context& context, const RewriteOptions& options) const;

  ChangeInfo info_;
  std::vector<const Rule*> rules_;
  bool freeze_;
  double chance_;
};

// One Change per rule of rewrite/rules.def that is not exact; the exact ones are tried together (clean-graph).
std::vector<const Change*> single_rule_changes();
// The rules that keep every result bit for bit.
std::vector<const Rule*> exact_rules();

}  // namespace hone::change
