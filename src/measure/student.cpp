// Student's t distribution: the only special function the decisions need, so no library is linked for it.
// The regularized incomplete beta function by its continued fraction (modified Lentz, NIST DLMF 8.17.22).
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "base/check.h"
#include "measure/decide.h"

namespace hone::measure {

namespace {

// The continued fraction of I_x(a, b); converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int i = 1; i <= 500; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      step = d * c;
      value *= step;
    }
    if (std::fabs(step - 1) < 1e-15) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double log_front = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  const double front = std::exp(log_front);
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double t_density(double t, double degrees) {
  const double log_norm = std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2) - 0.5 * std::log(degrees * M_PI);
  return std::exp(log_norm - (degrees + 1) / 2 * std::log1p(t * t / degrees));
}

// P(T > t) for t >= 0, without the cancellation of 1 - cdf.
double upper_tail(double t, double degrees) {
  return 0.5 * incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

}  // namespace

double t_cdf(double t, double degrees) {
  HONE_CHECK(degrees > 0, "degrees = {}", degrees);
  const double tail = upper_tail(std::fabs(t), degrees);
  return t < 0 ? tail : 1 - tail;
}

double t_quantile(double probability, double degrees) {
  HONE_CHECK(probability > 0 && probability < 1 && degrees > 0, "p = {}", probability);
  if (probability < 0.5) return -t_quantile(1 - probability, degrees);
  const double tail = 1 - probability;
  double low = 0, high = 1;
  while (upper_tail(high, degrees) > tail && high < 1e12) {
    low = high;
    high *= 2;
  }
  // Newton inside a bracket: bisects whenever a step would leave it.
  double t = (low + high) / 2;
  for (int i = 0; i < 200; ++i) {
    const double excess = upper_tail(t, degrees) - tail;
    (excess > 0 ? low : high) = t;
    double next = t + excess / t_density(t, degrees);
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (std::fabs(next - t) <= 1e-12 * (1 + t)) return next;
    t = next;
  }
  return t;
}

}  // namespace hone::measure
