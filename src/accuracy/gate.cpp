// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "accuracy/accuracy.h"

namespace hone::accuracy {

namespace {

// An integer, bool or string output of a lossy change may differ in this share of its elements: they are decisions,
// and product.md grants decisions 1 % (top-1 agreement >= 99 %).
constexpr double kMinEqualShare = 0.99;

std::string below(std::string_view what, double value, double bound) {
  return fmt::format("{} {:.6g} < {:g}", what, value, bound);
}

// The first gate that does not hold, or nothing.
std::string numeric_failure(const Metrics& m, const Gate& gate, Class accuracy_class) {
  const Thresholds limits = default_thresholds(accuracy_class);
  const double min_cosine = gate.min_cosine.value_or(limits.cosine);
  const auto min_topk = gate.topk ? gate.topk : limits.topk;
  if (accuracy_class == Class::kLossy && m.equal_share && *m.equal_share >= kMinEqualShare) return {};
  if (gate.max_abs && m.max_abs > *gate.max_abs)
    return fmt::format("largest difference {:.3g} > {:g}", m.max_abs, *gate.max_abs);
  if (!gate.max_abs && m.relative_max > limits.relative_max)
    return fmt::format("largest difference is {:.3g} of the largest reference > {:g}", m.relative_max,
                       limits.relative_max);
  if (m.cosine < min_cosine) return below("cosine", m.cosine, min_cosine);
  if (min_topk && m.topk_match && *m.topk_match < *min_topk) return below("top-1 agreement", *m.topk_match, *min_topk);
  return {};
}

std::string failure(const Metrics& m, const Gate& gate, Class accuracy_class) {
  if (!m.problem.empty()) return m.problem;
  // Before any level: a quality command may never look at the element that became NaN.
  if (m.nan_mismatch > 0)
    return fmt::format("{} of {} elements are NaN or Inf on one side only", m.nan_mismatch, m.elements);
  if (gate.level == "quality") return {};  // the user's number decides
  if (gate.level == "bitwise")
    return m.bitwise ? "" : fmt::format("not bitwise equal, largest difference {:.3g}", m.max_abs);
  return numeric_failure(m, gate, accuracy_class);
}

void add_notes(const Metrics& m, std::vector<std::string>& notes) {
  if (m.reference_nan > 0)
    notes.push_back(
        fmt::format("reference output '{}' has NaN or Inf in {} of {} elements: nothing is proved about them", m.name,
                    m.reference_nan, m.elements));
  if (m.elements == 0) notes.push_back(fmt::format("output '{}' is empty: nothing is proved about it", m.name));
}

}  // namespace

std::string_view to_text(Class accuracy_class) {
  switch (accuracy_class) {
    case Class::kExact:
      return "exact";
    case Class::kReassociating:
      return "reassociating";
    case Class::kLossy:
      break;
  }
  return "lossy";
}

std::optional<Class> class_from_text(std::string_view text) {
  for (const auto c : {Class::kExact, Class::kReassociating, Class::kLossy})
    if (to_text(c) == text) return c;
  return std::nullopt;
}

Thresholds default_thresholds(Class accuracy_class) {
  if (accuracy_class == Class::kLossy) return {0.05, 0.999, 0.99};
  return {1e-3, 0.99999, std::nullopt};
}

Report judge(std::vector<Metrics> outputs, const Gate& gate, Class accuracy_class, int64_t samples, bool synthetic) {
  Report report;
  report.level = gate.level;
  report.accuracy_class = accuracy_class;
  report.samples = samples;
  report.synthetic = synthetic;
  report.outputs = std::move(outputs);
  for (auto& output : report.outputs) {
    output.why = failure(output, gate, accuracy_class);
    output.passed = output.why.empty();
    add_notes(output, report.notes);
    if (output.passed || !report.passed) continue;
    report.passed = false;
    report.why = fmt::format("output '{}': {}", output.name, output.why);
  }
  return report;
}

}  // namespace hone::accuracy
