// Metrics of one output: blocks of both tensors are read as doubles (numbers.h) and summed in lanes, which the compiler
// turns into vector code and which keeps rounding small. Blocks with a NaN or Inf take a careful path.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "accuracy/accuracy.h"
#include "accuracy/classes.h"
#include "accuracy/numbers.h"

namespace hone::accuracy {

using model::DType;
using model::NamedTensors;
using model::Tensor;

namespace {

// Two blocks of doubles stay in a 32 KiB first-level cache.
constexpr size_t kBlock = 1024;
constexpr size_t kLanes = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Squares of numbers outside this range leave the range of double; such outputs are scaled first.
constexpr double kLargest = 1e140, kSmallest = 1e-140;

struct Sums {
  double abs = 0, square = 0;     // of differences
  double rr = 0, tt = 0, rt = 0;  // products of reference and tried
  double max_abs = 0, max_ref = 0, max_tried = 0;
  int64_t compared = 0, mismatched = 0, reference_nan = 0, equal = 0;
};

struct Lanes {
  std::array<double, kLanes> v{};
  double sum() const { return (v[0] + v[1]) + (v[2] + v[3]); }
  double max() const { return std::max(std::max(v[0], v[1]), std::max(v[2], v[3])); }
};

bool all_finite(std::span<const double> values) {
  Lanes zero;  // 0 * NaN and 0 * Inf are NaN
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (size_t k = 0; k < kLanes; ++k) zero.v[k] += values[i + k] * 0.0;
  for (; i < values.size(); ++i) zero.v[0] += values[i] * 0.0;
  return zero.sum() == 0;
}

void add_differences(std::span<const double> r, std::span<const double> t, Sums& sums) {
  Lanes abs, square, largest, equal;
  for (size_t i = 0; i < r.size(); i += kLanes)
    for (size_t k = 0; k < kLanes; ++k) {
      const double d = std::fabs(r[i + k] - t[i + k]);
      abs.v[k] += d;
      square.v[k] += d * d;
      largest.v[k] = largest.v[k] < d ? d : largest.v[k];
      equal.v[k] += d == 0 ? 1.0 : 0.0;
    }
  sums.abs += abs.sum(), sums.square += square.sum(), sums.max_abs = std::max(sums.max_abs, largest.max());
  sums.equal += static_cast<int64_t>(equal.sum());
}

void add_products(std::span<const double> r, std::span<const double> t, Sums& sums) {
  Lanes rr, tt, rt, max_r, max_t;
  for (size_t i = 0; i < r.size(); i += kLanes)
    for (size_t k = 0; k < kLanes; ++k) {
      const double a = r[i + k], b = t[i + k], abs_a = std::fabs(a), abs_b = std::fabs(b);
      rr.v[k] += a * a;
      tt.v[k] += b * b;
      rt.v[k] += a * b;
      max_r.v[k] = max_r.v[k] < abs_a ? abs_a : max_r.v[k];
      max_t.v[k] = max_t.v[k] < abs_b ? abs_b : max_t.v[k];
    }
  sums.rr += rr.sum(), sums.tt += tt.sum(), sums.rt += rt.sum();
  sums.max_ref = std::max(sums.max_ref, max_r.max()), sums.max_tried = std::max(sums.max_tried, max_t.max());
}

// Settles pairs with a NaN or Inf and sets both sides to zero there, which adds nothing to any sum.
void settle_non_finite(std::span<double> r, std::span<double> t, Sums& sums) {
  for (size_t i = 0; i < r.size(); ++i) {
    if (std::isfinite(r[i]) && std::isfinite(t[i])) continue;
    if (!std::isfinite(r[i])) ++sums.reference_nan;
    const bool same = (std::isnan(r[i]) && std::isnan(t[i])) || r[i] == t[i];
    if (!same) ++sums.mismatched, --sums.equal;  // the zeros will be counted as equal
    --sums.compared;
    r[i] = t[i] = 0;
  }
}

Sums sum_up(const Numbers& reference, const Numbers& tried, double scale) {
  Sums sums;
  std::array<double, kBlock> r{}, t{};
  for (int64_t begin = 0; begin < reference.count(); begin += kBlock) {
    const auto size = static_cast<size_t>(std::min<int64_t>(kBlock, reference.count() - begin));
    reference.read(begin, std::span(r).first(size));
    tried.read(begin, std::span(t).first(size));
    const size_t padded = (size + kLanes - 1) / kLanes * kLanes;
    for (size_t i = size; i < padded; ++i) r[i] = t[i] = 0;
    sums.compared += static_cast<int64_t>(size);
    sums.equal -= static_cast<int64_t>(padded - size);
    const std::span<double> rs = std::span(r).first(padded), ts = std::span(t).first(padded);
    if (!all_finite(rs) || !all_finite(ts)) settle_non_finite(rs.first(size), ts.first(size), sums);
    if (scale != 1)
      for (size_t i = 0; i < size; ++i) r[i] *= scale, t[i] *= scale;
    add_differences(rs, ts, sums);
    add_products(rs, ts, sums);
  }
  return sums;
}

double cosine_of(const Sums& sums) {
  if (sums.rr == 0 && sums.tt == 0) return 1;
  if (sums.rr == 0 || sums.tt == 0) return 0;
  return std::clamp(sums.rt / (std::sqrt(sums.rr) * std::sqrt(sums.tt)), -1.0, 1.0);
}

double snr_of(const Sums& sums) {
  if (sums.square == 0) return kInfinity;
  return sums.rr == 0 ? -kInfinity : 10 * std::log10(sums.rr / sums.square);
}

void fill(const Sums& sums, double scale, Metrics& out) {
  const auto n = static_cast<double>(std::max<int64_t>(1, sums.compared));
  out.max_abs = sums.max_abs / scale;
  out.mean_abs = sums.abs / n / scale;
  out.rmse = std::sqrt(sums.square / n) / scale;
  out.cosine = sums.square == 0 ? 1 : cosine_of(sums);  // equal outputs have no rounding in their cosine
  out.snr_db = snr_of(sums);
  out.relative_max = sums.max_abs == 0 ? 0 : sums.max_ref == 0 ? kInfinity : sums.max_abs / sums.max_ref;
  out.nan_mismatch = sums.mismatched;
  out.reference_nan = sums.reference_nan;
}

void compare_numbers(const Tensor& reference, const Tensor& tried, Metrics& out) {
  const auto left = Numbers::of(reference), right = Numbers::of(tried);
  if (!left || !right) {
    out.problem = "values of dtype " + model::dtype_name(reference.dtype()) + " can't be compared";
    return;
  }
  Sums sums = sum_up(*left, *right, 1);
  double scale = 1;
  const double largest = std::max(sums.max_ref, sums.max_tried);
  if (largest > kLargest || (largest > 0 && largest < kSmallest)) {
    scale = std::exp2(std::min(-std::ilogb(largest), 1000));  // 2^1074 for the smallest double is out of range itself
    sums = sum_up(*left, *right, scale);
  }
  fill(sums, scale, out);
  if (!model::is_floating(reference.dtype()) && reference.count() > 0)
    out.equal_share = static_cast<double>(sums.equal) / static_cast<double>(reference.count());
  if (has_classes(out.name, reference)) {
    const Agreement agreement = top1_agreement(reference, tried);
    out.topk_rows = agreement.rows;
    if (agreement.rows > 0)
      out.topk_match = static_cast<double>(agreement.agreeing) / static_cast<double>(agreement.rows);
  }
}

void compare_strings(const Tensor& reference, const Tensor& tried, Metrics& out) {
  out.snr_db = kInfinity;
  int64_t equal = 0;
  for (size_t i = 0; i < reference.strings().size(); ++i) equal += reference.strings()[i] == tried.strings()[i] ? 1 : 0;
  if (reference.count() > 0) out.equal_share = static_cast<double>(equal) / static_cast<double>(reference.count());
  if (equal == reference.count()) return;
  out.max_abs = out.relative_max = 1, out.cosine = 0, out.snr_db = -kInfinity;
  out.mean_abs = 1 - *out.equal_share;
  out.rmse = std::sqrt(out.mean_abs);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::kString) return a.strings() == b.strings();
  return std::ranges::equal(a.bytes(), b.bytes());
}

std::string type_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", model::dtype_name(tensor.dtype()), fmt::join(tensor.dims(), ","));
}

Metrics compare_one(const std::string& name, const Tensor& reference, const Tensor* tried) {
  Metrics out;
  out.name = name;
  out.elements = reference.count();
  if (tried == nullptr)
    out.problem = "the output is missing";
  else if (tried->dtype() != reference.dtype() || tried->dims() != reference.dims())
    out.problem = fmt::format("is {}, the reference is {}", type_text(*tried), type_text(reference));
  if (out.problem.empty()) {
    out.bitwise = same_bytes(reference, *tried);
    if (reference.dtype() == DType::kString)
      compare_strings(reference, *tried, out);
    else
      compare_numbers(reference, *tried, out);
  }
  if (!out.problem.empty()) out.bitwise = false;
  return out;
}

void merge_one(Metrics& worst, const Metrics& more) {
  worst.max_abs = std::max(worst.max_abs, more.max_abs);
  worst.mean_abs = std::max(worst.mean_abs, more.mean_abs);
  worst.rmse = std::max(worst.rmse, more.rmse);
  worst.relative_max = std::max(worst.relative_max, more.relative_max);
  worst.cosine = std::min(worst.cosine, more.cosine);
  worst.snr_db = std::min(worst.snr_db, more.snr_db);
  const auto weighted = [](std::optional<double> a, int64_t n, std::optional<double> b, int64_t m) {
    if (!a || n == 0) return b;
    if (!b || m == 0) return a;
    return std::optional((*a * static_cast<double>(n) + *b * static_cast<double>(m)) / static_cast<double>(n + m));
  };
  worst.topk_match = weighted(worst.topk_match, worst.topk_rows, more.topk_match, more.topk_rows);
  worst.equal_share = weighted(worst.equal_share, worst.elements, more.equal_share, more.elements);
  worst.topk_rows += more.topk_rows;
  worst.elements += more.elements;
  worst.nan_mismatch += more.nan_mismatch;
  worst.reference_nan += more.reference_nan;
  worst.bitwise = worst.bitwise && more.bitwise;
  if (worst.problem.empty()) worst.problem = more.problem;
}

}  // namespace

std::vector<Metrics> compare_outputs(const NamedTensors& reference, const NamedTensors& tried) {
  std::vector<Metrics> out;
  for (const auto& [name, tensor] : reference) out.push_back(compare_one(name, tensor, find_tensor(tried, name)));
  return out;
}

void merge(std::vector<Metrics>& worst, const std::vector<Metrics>& more) {
  for (const auto& metrics : more) {
    const auto same =
        std::find_if(worst.begin(), worst.end(), [&](const Metrics& m) { return m.name == metrics.name; });
    if (same == worst.end())
      worst.push_back(metrics);
    else
      merge_one(*same, metrics);
  }
}

}  // namespace hone::accuracy
