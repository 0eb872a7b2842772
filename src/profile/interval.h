// Intervals of time and the arithmetic on sets of them, exact in int64 nanoseconds, O(n log n).
//
// Why: kernels overlap (streams, threads) and nest (If, Loop), so the time something was busy is the length of a union,
// never a sum. Exposed time is a difference: busy with it minus busy without it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace hone::profile {

struct Interval {
  int64_t begin = 0, end = 0;  // [begin, end); empty when end <= begin
  bool operator==(const Interval&) const = default;
};

// A set in normal form: sorted, disjoint, no empty and no touching intervals. Every function below returns this form;
// those that take a Merged need it.
using Merged = std::vector<Interval>;

Merged merge(std::vector<Interval> intervals);
int64_t length(const Merged& set);
Merged intersection(const Merged& a, const Merged& b);
Merged difference(const Merged& a, const Merged& b);  // a without b
Merged clip(const Merged& set, Interval window);
// What of the window no interval covers.
Merged gaps(const Merged& set, Interval window);

}  // namespace hone::profile
