// One entry of a kernel density as a sum of Gaussian bumps, taken directly over the values that matter.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/density/kernel_statistics.hpp"
#include "kernels/kernel_density.hpp"

namespace tb {

constexpr std::size_t kFew = 32;  // so many exponentials cost about as much as a cell's polynomial

// reach: a value whose bump, with weight 1 each, is exp(-reach) below that of the nearest value does not matter:
// all such values together are less than 1e-11 of the sum.
struct Bumps {
  Multiset at;
  double two_over_h;
  double log_scale;
  double reach;

  Bumps(const Multiset& values, const double* entry)
      : at(values), two_over_h(2.0 / entry[0]), log_scale(entry[1]), reach(entry[2]) {}

  std::size_t nearest(double x) const {
    const std::size_t right = static_cast<std::size_t>(std::lower_bound(at.value, at.value + at.size, x) - at.value);
    if (right == 0) return 0;
    if (right == at.size) return right - 1;
    return std::fabs(0.5 * x - 0.5 * at.value[right - 1]) <= std::fabs(0.5 * x - 0.5 * at.value[right]) ? right - 1
                                                                                                        : right;
  }

  double distance(double x, std::size_t i) const { return std::fabs(0.5 * x - 0.5 * at.value[i]) * two_over_h; }

  // The values that can matter at x lie within r of it, r^2 = u^2 + 2 reach if the nearest lies at u bandwidths. This
  // is half of r, or a little more, in x's units: no less than half the nearest value's own rounded distance.
  double half_radius(double x, std::size_t near) const {
    const double half = std::fabs(0.5 * x - 0.5 * at.value[near]);
    return half + std::min(std::sqrt(2 * reach), reach / (half * two_over_h)) / two_over_h;
  }

  // The first value within half_radius below x, and the first beyond it above; searched from the nearest outwards,
  // as they are often few.
  std::size_t first(double x, std::size_t near) const {
    const double r = half_radius(x, near);
    const auto beyond = [&](double v) { return 0.5 * x - 0.5 * v > r; };
    std::size_t i = near, step = 1;
    for (; step <= i && !beyond(at.value[i - step]); step *= 2) i -= step;
    return static_cast<std::size_t>(std::partition_point(at.value + (i - std::min(i, step)), at.value + i, beyond) -
                                    at.value);
  }
  std::size_t end(double x, std::size_t near) const {
    const double r = half_radius(x, near);
    const auto within = [&](double v) { return 0.5 * v - 0.5 * x <= r; };
    std::size_t i = near, step = 1;
    for (; i + step < at.size && within(at.value[i + step]); step *= 2) i += step;
    return static_cast<std::size_t>(
        std::partition_point(at.value + i, at.value + std::min(at.size, i + step + 1), within) - at.value);
  }

  double log_density(double x) const {
    const std::size_t near = nearest(x);
    const double u = distance(x, near);
    if (u > 1e200) return -std::numeric_limits<double>::infinity();  // u^2 is beyond the range of doubles
    const bool all = at.size <= kFew;
    const std::size_t from = all ? 0 : first(x, near), to = all ? at.size : end(x, near);
    const double sum =
        TB_CALL(gauss_sum, at.value + from, at.weight + from, to - from, 0.5 * x, 0.5 * at.value[near], two_over_h);
    return log_scale + (std::log(sum) - 0.5 * u * u);
  }

  // Where that is minus infinity, the nearest value alone decides.
  long double log_density_wide(double x) const {
    const double narrow = log_density(x);
    if (std::isfinite(narrow)) return narrow;
    const std::size_t near = nearest(x);
    const long double u = (0.5L * x - 0.5L * at.value[near]) * two_over_h;
    return log_scale + std::log(at.weight[near]) - 0.5L * u * u;
  }
};

}  // namespace tb
