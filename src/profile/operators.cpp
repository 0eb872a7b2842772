// Sums kernels by operator over the typical inferences. SPDX-License-Identifier: Apache-2.0
#include "profile/operators.h"

#include <algorithm>
#include <array>
#include <map>

#include "profile/interval.h"

namespace hone::profile {

std::vector<int32_t> typical_steps(const Profile& profile) {
  std::vector<int32_t> steps;
  const size_t first = profile.steps.size() >= 3 ? 1 : 0;
  for (size_t i = first; i < profile.steps.size(); ++i) steps.push_back(static_cast<int32_t>(i));
  std::sort(steps.begin(), steps.end(), [&](int32_t a, int32_t b) {
    return std::pair(profile.steps[a].duration_ns, a) < std::pair(profile.steps[b].duration_ns, b);
  });
  const size_t quarter = steps.size() / 4;
  steps = std::vector<int32_t>(steps.begin() + quarter, steps.end() - quarter);
  std::sort(steps.begin(), steps.end());
  return steps;
}

namespace {

// Union of the kernels of each chosen step, clipped to the step. Kernels are in order of start.
int64_t busy(const Profile& profile, const std::vector<std::vector<Interval>>& by_step, const Operators& chosen) {
  int64_t sum = 0;
  for (size_t i = 0; i < by_step.size(); ++i) {
    Merged set = merge(by_step[i]);
    if (!chosen.steps.empty()) {
      const HostSpan& step = profile.steps[chosen.steps[i]];
      set = clip(set, {step.start_ns, step.start_ns + step.duration_ns});
    }
    sum += length(set);
  }
  return sum;
}

}  // namespace

Operators operators(const Profile& profile) {
  Operators result;
  result.steps = typical_steps(profile);
  std::vector<int32_t> slot_of(profile.steps.size(), -1);
  for (size_t i = 0; i < result.steps.size(); ++i) slot_of[result.steps[i]] = static_cast<int32_t>(i);

  std::vector<std::vector<Interval>> by_step(std::max<size_t>(1, result.steps.size()));
  std::map<std::array<StringId, 4>, size_t> rows;
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (const Kernel& kernel : profile.kernels) {
    size_t slot = 0;
    if (!profile.steps.empty()) {
      if (kernel.step < 0 || slot_of[kernel.step] < 0) continue;
      slot = static_cast<size_t>(slot_of[kernel.step]);
    }
    const int64_t end = kernel.start_ns + kernel.duration_ns;
    by_step[slot].push_back({kernel.start_ns, end});
    first = std::min(first, kernel.start_ns);
    last = std::max(last, end);
    const auto [row, is_new] =
        rows.try_emplace({kernel.name, kernel.type, kernel.shapes, kernel.output_shapes}, result.rows.size());
    if (is_new)
      result.rows.push_back({kernel.node, kernel.name, kernel.type, kernel.shapes, kernel.dtypes, kernel.output_shapes,
                             kernel.output_dtypes, 0, 0, 0, kernel.start_ns});
    result.rows[row->second].calls += 1;
    result.rows[row->second].self_ns += kernel.self_ns;
    result.rows[row->second].children += kernel.children;
    result.kernel_ns += kernel.self_ns;
  }
  for (int32_t step : result.steps) result.wall_ns += profile.steps[step].duration_ns;
  if (profile.steps.empty() && first < last) result.wall_ns = last - first;
  result.busy_ns = busy(profile, by_step, result);
  std::stable_sort(result.rows.begin(), result.rows.end(),
                   [](const Operator& a, const Operator& b) { return a.self_ns > b.self_ns; });
  return result;
}

}  // namespace hone::profile
