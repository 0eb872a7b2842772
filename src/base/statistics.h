// The few statistics that rooms share: mean, median, quantile. 0 of nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace hone {

double mean_of(const std::vector<double>& values);
// Of an even number of values: the mean of the middle two.
double median_of(std::vector<double> values);
// Between two values: linear, as numpy does by default. `q` from 0 to 1.
double quantile_of_sorted(const std::vector<double>& sorted, double q);

}  // namespace hone
