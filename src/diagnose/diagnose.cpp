// SPDX-License-Identifier: Apache-2.0
// The steps of diagnose() (diagnose.h).
#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "diagnose/facts.h"
#include "diagnose/invocation.h"
#include "profile/operators.h"

namespace hone::diagnose {

namespace finding {
#define HONE_FINDING(id, title) std::optional<Finding> id(const Facts&);
#include "diagnose/findings.def"
#undef HONE_FINDING
}  // namespace finding

const std::vector<FindingInfo>& all_findings() {
  static const std::vector<FindingInfo> list = {
#define HONE_FINDING(id, title) {#id, title},
#include "diagnose/findings.def"
#undef HONE_FINDING
  };
  return list;
}

namespace {

constexpr double kNsPerMs = 1e6;

std::vector<std::optional<Finding>> evaluate(const Facts& facts) {
  return {
#define HONE_FINDING(id, title) finding::id(facts),
#include "diagnose/findings.def"
#undef HONE_FINDING
  };
}

class Diagnoser {
 public:
  Diagnoser(const profile::Profile& profile, const model::Graph& graph, const Machine& machine,
            const Conditions& conditions)
      : profile_(profile), conditions_(conditions), graph_(graph), index_(graph) {
    diagnosis_.machine = machine;
  }

  Diagnosis run() {
    sums_ = profile::operators(profile_);
    set_times();
    for (const profile::Operator& op : sums_.rows) add_row(op);
    for (const Row& row : rows_) diagnosis_.weight_bytes += row.cost.weight_bytes * row.calls;
    const Roofline roofline(diagnosis_.machine, conditions_.threads, diagnosis_.weight_bytes);
    set_roofs(roofline);
    set_classes();
    add_notes();
    Facts facts{profile_, graph_, diagnosis_.machine, conditions_, diagnosis_, roofline, index_, std::move(rows_), {}};
    for (size_t i = 0; i < facts.rows.size(); ++i)
      if (const NodeRef& root = facts.rows[i].mapped.root) facts.own_rows[root].push_back(i);
    std::vector<Finding> findings;
    for (std::optional<Finding>& found : evaluate(facts))
      if (found) findings.push_back(std::move(*found));
    std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
      return a.priority != b.priority ? a.priority < b.priority : a.upper_bound > b.upper_bound;
    });
    diagnosis_.findings = std::move(findings);
    return std::move(diagnosis_);
  }

 private:
  void set_times() {
    inferences_ = static_cast<double>(std::max<size_t>(1, sums_.steps.size()));
    diagnosis_.inferences = static_cast<int64_t>(inferences_);
    diagnosis_.profiled_ms = per_inference(sums_.wall_ns);
    diagnosis_.latency_ms = conditions_.latency_ms > 0 ? conditions_.latency_ms : diagnosis_.profiled_ms;
    const double busy = per_inference(sums_.busy_ns) - remove_profiler_time();
    double kernels = 0;
    for (const profile::Operator& op : sums_.rows) kernels += per_inference(op.self_ns);
    // Without the profiler an inference may be shorter than its profiled kernels: these are scaled down then, so that
    // shares stay shares. What is more is outside of kernels.
    diagnosis_.kernel_ms = std::min(busy, diagnosis_.latency_ms);
    diagnosis_.outside_ms = diagnosis_.latency_ms - diagnosis_.kernel_ms;
    // Kernels that ran side by side: their times are made to add up to the time something ran.
    scale_ = kernels > 0 ? std::min(1.0, diagnosis_.kernel_ms / kernels) : 1;
  }

  double per_inference(int64_t ns) const { return static_cast<double>(ns) / kNsPerMs / inferences_; }

  // Recording an event takes time, after the event: in a kernel that contains others, theirs counts as its own. With
  // the latency measured without the profiler, what an event costs is known. Returns the time taken away, per
  // inference.
  double remove_profiler_time() {
    double events = 0;
    for (const profile::Operator& op : sums_.rows) events += static_cast<double>(op.calls) / inferences_;
    const double extra = conditions_.latency_ms > 0 ? diagnosis_.profiled_ms - conditions_.latency_ms : 0;
    if (extra <= 0 || events <= 0) return 0;
    double removed = 0;
    for (profile::Operator& op : sums_.rows) {
      const double inside = static_cast<double>(op.children) * extra / events * kNsPerMs;
      const auto cut = std::min(op.self_ns, static_cast<int64_t>(inside));
      op.self_ns -= cut;
      removed += per_inference(cut);
    }
    std::stable_sort(sums_.rows.begin(), sums_.rows.end(),
                     [](const profile::Operator& a, const profile::Operator& b) { return a.self_ns > b.self_ns; });
    return removed;
  }

  void add_row(const profile::Operator& op) {
    Row row;
    row.mapped = index_.find(profile_.text(op.node), profile_.text(op.type));
    row.invocation = invocation_of(profile_, op, row.mapped.root);
    row.klass = class_of(row.invocation.type);
    row.dtype = computed_with(row.invocation);
    row.cost = cost_of(row.invocation);
    row.calls = static_cast<double>(op.calls) / inferences_;
    OperatorTime time;
    time.node = row.mapped.root                ? row.mapped.root.label()
                : row.mapped.nodes.size() == 1 ? row.mapped.nodes.front().label()
                                               : std::string(profile_.text(op.name));
    time.type = row.invocation.type;
    time.klass = to_text(row.klass);
    time.ms = static_cast<double>(op.self_ns) / kNsPerMs / inferences_ * scale_;
    time.share = diagnosis_.latency_ms > 0 ? time.ms / diagnosis_.latency_ms : 0;
    time.flops = row.cost.flops < 0 ? -1 : row.cost.flops * row.calls;
    time.bytes = row.cost.bytes < 0 ? -1 : row.cost.bytes * row.calls;
    time.weight_bytes = row.cost.weight_bytes * row.calls;
    time.shapes = profile_.text(op.shapes);
    diagnosis_.flops += std::max(0.0, time.flops);
    diagnosis_.bytes += std::max(0.0, time.bytes);
    diagnosis_.operators.push_back(std::move(time));
    rows_.push_back(std::move(row));
  }

  void set_roofs(const Roofline& roofline) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      OperatorTime& time = diagnosis_.operators[i];
      time.roof_ms = roofline.least_ms(rows_[i].cost, rows_[i].dtype) * rows_[i].calls;
      time.efficiency = time.ms > 0 ? time.roof_ms / time.ms : 0;
      diagnosis_.roof_ms += time.roof_ms;
    }
  }

  void set_classes() {
    std::array<ClassTime, static_cast<size_t>(OperatorClass::kOther) + 1> sums;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const OperatorTime& time = diagnosis_.operators[i];
      ClassTime& sum = sums[static_cast<size_t>(rows_[i].klass)];
      sum.name = to_text(rows_[i].klass);
      sum.ms += time.ms;
      sum.flops += std::max(0.0, time.flops);
      sum.bytes += std::max(0.0, time.bytes);
    }
    for (ClassTime& sum : sums) {
      if (sum.name.empty()) continue;
      sum.share = diagnosis_.latency_ms > 0 ? sum.ms / diagnosis_.latency_ms : 0;
      diagnosis_.classes.push_back(std::move(sum));
    }
    std::stable_sort(diagnosis_.classes.begin(), diagnosis_.classes.end(),
                     [](const ClassTime& a, const ClassTime& b) { return a.ms > b.ms; });
  }

  void add_notes() {
    diagnosis_.notes = profile_.notes;
    double mapped = 0, renamed = 0, without_cost = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const double ms = diagnosis_.operators[i].ms;
      if (!rows_[i].mapped.nodes.empty()) mapped += ms;
      if (!rows_[i].mapped.nodes.empty() && !rows_[i].mapped.root) renamed += ms;
      if (rows_[i].cost.flops <= 0 && rows_[i].cost.bytes < 0) without_cost += ms;
    }
    const double all = std::max(1e-12, diagnosis_.kernel_ms);
    diagnosis_.mapped_share = std::min(1.0, mapped / all);
    auto note = [&](std::string text) { diagnosis_.notes.push_back(std::move(text)); };
    if (diagnosis_.mapped_share < 0.995)
      note(fmt::format("{} of the kernel time is in kernels the engine made itself or named after no node of the model",
                       percent(1 - diagnosis_.mapped_share)));
    if (renamed / all >= kWorthMentioning)
      note(fmt::format("{} of the kernel time is in kernels the engine fused from several nodes",
                       percent(renamed / all)));
    if (without_cost / all >= kWorthMentioning)
      note(fmt::format("FLOPs and bytes are not known for {} of the kernel time", percent(without_cost / all)));
    add_time_notes(note);
  }

  template <class Note>
  void add_time_notes(const Note& note) const {
    // Each row is right to half the clock's unit; over many rows and inferences that averages out, but not in one.
    double rows_per_inference = 0;
    for (const Row& row : rows_) rows_per_inference += row.calls;
    const double blur =
        rows_per_inference * static_cast<double>(profile_.resolution_ns) / 2 / kNsPerMs / std::sqrt(inferences_);
    if (blur > 0.05 * diagnosis_.kernel_ms)  // own choice
      note(
          fmt::format("the profiler counts in steps of {} ns: the {:.0f} kernels of an inference are blurred by up to "
                      "{:.3f} ms",
                      profile_.resolution_ns, rows_per_inference, blur));
    if (conditions_.latency_ms > 0 && diagnosis_.profiled_ms > 1.1 * conditions_.latency_ms)  // own choice
      note(
          fmt::format("the profiler made an inference {:.2f} times as long ({:.3f} ms instead of {:.3f} ms): shares of "
                      "short kernels are too large",
                      diagnosis_.profiled_ms / conditions_.latency_ms, diagnosis_.profiled_ms, conditions_.latency_ms));
    if (sums_.steps.size() < 8 && profile_.has(profile::Capability::kTimeline))  // own choice
      note(fmt::format("only {} inferences were usable: times are rough", sums_.steps.size()));
  }

  const profile::Profile& profile_;
  const Conditions& conditions_;
  const model::Graph& graph_;
  NodeIndex index_;
  profile::Operators sums_;
  Diagnosis diagnosis_;
  std::vector<Row> rows_;
  double inferences_ = 1, scale_ = 1;
};

}  // namespace

Result<Diagnosis> diagnose(const profile::Profile& profile, const model::Graph& graph, const Machine& machine,
                           const Conditions& conditions) {
  if (profile.kernels.empty())
    return fail(bad_input("the profile has no kernels", {}, "profile at least one inference"));
  return Diagnoser(profile, graph, machine, conditions).run();
}

Result<Diagnosis> diagnose_file(const fs::path& file, const model::Model& model, const Machine& machine,
                                const Conditions& conditions) {
  const profile::Profile profile = HONE_TRY(profile::read(file));
  model::Model frozen = model.clone();
  // Known dims give exact costs where the profile has no shapes.
  if (!frozen.freeze_shapes(conditions.shapes)) return diagnose(profile, model.graph(), machine, conditions);
  return diagnose(profile, frozen.graph(), machine, conditions);
}

}  // namespace hone::diagnose
