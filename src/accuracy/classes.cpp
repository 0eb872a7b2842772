// SPDX-License-Identifier: Apache-2.0
#include "accuracy/classes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

namespace hone::accuracy {

namespace {

constexpr int64_t kMaxClasses = 100'000;
// Rows looked at to tell what an output is; all rows of a real output are of one kind.
constexpr int64_t kRowsLookedAt = 64;
// Sums of float16 probabilities over thousands of classes miss 1 by less than this.
constexpr double kSumTolerance = 1e-2;
constexpr double kTie = 1e-3;

bool says(std::string_view name, std::initializer_list<std::string_view> words) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

struct RowKinds {
  bool probabilities = true, unit_length = true;
};

RowKinds look_at_rows(const Numbers& numbers, int64_t classes) {
  RowKinds kinds;
  std::vector<double> row(static_cast<size_t>(classes));
  for (int64_t r = 0; r < std::min(kRowsLookedAt, numbers.count() / classes); ++r) {
    numbers.read(r * classes, row);
    double sum = 0, squares = 0;
    bool in_range = true;
    for (const double v : row) {
      sum += v, squares += v * v;
      in_range = in_range && v >= 0 && v <= 1 + kSumTolerance;
    }
    kinds.probabilities = kinds.probabilities && in_range && std::fabs(sum - 1) <= kSumTolerance;
    kinds.unit_length = kinds.unit_length && std::fabs(squares - 1) <= kSumTolerance;
  }
  return kinds;
}

// The first largest number of a row; NaN is never it, unless there is nothing else. In two passes: the first is vector
// code, which a search that carries the index along is not.
size_t best_of(const std::vector<double>& row) {
  constexpr size_t kLanes = 8;
  std::array<double, kLanes> largest;
  largest.fill(-std::numeric_limits<double>::infinity());
  const size_t whole = row.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes)
    for (size_t k = 0; k < kLanes; ++k) largest[k] = largest[k] < row[i + k] ? row[i + k] : largest[k];
  double best = *std::max_element(largest.begin(), largest.end());
  for (size_t i = whole; i < row.size(); ++i) best = best < row[i] ? row[i] : best;
  const auto found = std::find(row.begin(), row.end(), best);
  return found == row.end() ? 0 : static_cast<size_t>(found - row.begin());
}

double largest_of(const std::vector<double>& row) {
  double largest = 0;
  for (const double v : row)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  return largest;
}

}  // namespace

bool has_classes(std::string_view name, const model::Tensor& reference) {
  if (!model::is_floating(reference.dtype()) || reference.rank() < 2 || reference.count() == 0) return false;
  const int64_t classes = reference.dims().back();
  if (classes < 2 || classes > kMaxClasses) return false;
  if (says(name, {"logit", "score", "prob", "softmax", "class", "label"})) return true;
  const auto numbers = Numbers::of(reference);
  if (!numbers) return false;
  const RowKinds kinds = look_at_rows(*numbers, classes);
  if (kinds.probabilities) return true;
  return reference.rank() == 2 && !kinds.unit_length && !says(name, {"embed", "hidden", "state", "pool", "feature"});
}

Agreement top1_agreement(const model::Tensor& reference, const model::Tensor& tried) {
  HONE_CHECK(reference.dims() == tried.dims() && reference.rank() >= 1);
  const auto left = Numbers::of(reference), right = Numbers::of(tried);
  const int64_t classes = reference.dims().back();
  Agreement agreement;
  if (!left || !right || reference.count() == 0) return agreement;
  std::vector<double> a(static_cast<size_t>(classes)), b(static_cast<size_t>(classes));
  for (int64_t begin = 0; begin < reference.count(); begin += classes) {
    left->read(begin, a);
    right->read(begin, b);
    const size_t best = best_of(a), chosen = best_of(b);
    ++agreement.rows;
    if (best == chosen || a[best] - a[chosen] <= kTie * largest_of(a)) ++agreement.agreeing;
  }
  return agreement;
}

}  // namespace hone::accuracy
