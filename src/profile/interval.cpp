// Interval sets by sorted sweeps. SPDX-License-Identifier: Apache-2.0
#include "profile/interval.h"

#include <algorithm>

namespace hone::profile {

Merged merge(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Merged merged;
  for (const Interval& interval : intervals) {
    if (interval.end <= interval.begin) continue;
    if (!merged.empty() && interval.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, interval.end);
    else
      merged.push_back(interval);
  }
  return merged;
}

int64_t length(const Merged& set) {
  int64_t sum = 0;
  for (const Interval& interval : set) sum += interval.end - interval.begin;
  return sum;
}

Merged intersection(const Merged& a, const Merged& b) {
  Merged common;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end) common.push_back(both);
    a[i].end < b[j].end ? ++i : ++j;
  }
  return common;
}

Merged difference(const Merged& a, const Merged& b) {
  Merged rest;
  size_t j = 0;
  for (Interval part : a) {
    while (j < b.size() && b[j].end <= part.begin) ++j;
    for (size_t k = j; k < b.size() && b[k].begin < part.end; ++k) {
      if (part.begin < b[k].begin) rest.push_back({part.begin, b[k].begin});
      part.begin = std::max(part.begin, b[k].end);
    }
    if (part.begin < part.end) rest.push_back(part);
  }
  return rest;
}

Merged clip(const Merged& set, Interval window) { return intersection(set, merge({window})); }

Merged gaps(const Merged& set, Interval window) { return difference(merge({window}), set); }

}  // namespace hone::profile
