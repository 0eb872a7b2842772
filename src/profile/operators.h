// Operators: a Profile's kernels summed per inference: one row per (name, type, shapes), in order of first start.
//
// Which inferences: the first is warm-up (allocation, first touch), and on shared machines single ones are slow for
// reasons outside. So: without the first when there are 3 or more, the middle half by duration (at least one). Their
// mean is as robust as a median (interquartile mean), and, unlike medians, means of parts add up to the whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace hone::profile {

struct Operator {
  StringId node = 0, name = 0, type = 0, shapes = 0, dtypes = 0, output_shapes = 0, output_dtypes = 0;
  int64_t calls = 0;           // in all chosen inferences
  int64_t self_ns = 0;         // in all chosen inferences
  int64_t children = 0;        // kernels directly inside them
  int64_t first_start_ns = 0;  // of its first kernel: tables can be shown in order of execution
};

struct Operators {
  std::vector<int32_t> steps;  // the chosen inferences
  int64_t wall_ns = 0;         // sum over them
  int64_t busy_ns = 0;         // union of kernels inside them, summed
  int64_t kernel_ns = 0;       // sum of self times: more than busy_ns when kernels ran in parallel
  std::vector<Operator> rows;  // by self time, descending
};

// The inferences that count. Empty when the profile has no steps.
std::vector<int32_t> typical_steps(const Profile& profile);
Operators operators(const Profile& profile);

}  // namespace hone::profile
