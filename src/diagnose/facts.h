// Facts: what findings reason about: the kernels of one inference with their costs and nodes, the graph, the machine.
//
// A finding is a function Facts -> optional<Finding>. It says what it saw with numbers, and bounds what fixing it can
// gain by Amdahl's law: the whole time over the time without the part (or with the part at its least time).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/cost.h"
#include "diagnose/diagnose.h"
#include "diagnose/mapping.h"
#include "diagnose/roofline.h"

namespace hone::diagnose {

// One operator of the profile; the row of the same index in Diagnosis::operators has its times.
struct Row {
  Invocation invocation;
  OperatorClass klass = OperatorClass::kOther;
  model::DType dtype = model::DType::kUndefined;  // computed with
  Cost cost;                                      // of one call
  double calls = 0;                               // per inference
  Mapped mapped;
};

struct Facts {
  const profile::Profile& profile;
  const model::Graph& graph;
  const Machine& machine;
  const Conditions& conditions;
  const Diagnosis& diagnosis;
  const Roofline& roofline;
  const NodeIndex& index;
  std::vector<Row> rows;
  std::map<NodeRef, std::vector<size_t>> own_rows;  // node -> the rows whose root it is

  int threads() const { return conditions.threads > 0 ? conditions.threads : machine.cores; }
  double ms(size_t row) const { return diagnosis.operators[row].ms; }
  // Time of a node that is computed by a kernel of its own type; 0 when it was fused into another or didn't run.
  double own_ms(const NodeRef& node) const;
  double own_ms(const std::vector<NodeRef>& nodes) const;
  bool runs_alone(const NodeRef& node) const { return own_rows.contains(node); }
  double share(double ms) const { return diagnosis.latency_ms > 0 ? ms / diagnosis.latency_ms : 0; }
  // Speed-up of the whole model when this much time is saved; at most 100 (a bound, not a promise).
  double speedup_when_saved(double ms) const;
  // Sum over the rows of a class.
  double class_ms(OperatorClass klass) const;
};

// What a finding function fills; title, share, upper bound and priority follow from it.
struct Observation {
  double part_ms = 0;   // the part of the latency the finding is about
  double saved_ms = 0;  // at most this much less when it is fixed
  std::string evidence, direction;
  std::vector<std::string> nodes;
};
Finding make_finding(std::string_view id, const Facts& facts, Observation observation);

// P0 from 1.25, P1 from 1.08, else P2 (own choice: with the noise floor of 3 % a P2 needs nearly all of its bound to be
// provable; a P0 is worth doing before anything else).
Priority priority_of(double upper_bound);

// Findings about less than this share of the latency are left out: a tenth of a change that could be proven at the 3 %
// noise floor needs 0.3 % (own choice: 0.5 %).
inline constexpr double kWorthMentioning = 0.005;

// At most the first ten labels, the rest as a count: reports stay readable.
std::vector<std::string> labels_of(const std::vector<NodeRef>& nodes);
std::string percent(double share);  // "12.3 %"

}  // namespace hone::diagnose
