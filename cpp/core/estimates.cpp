#include "core/estimates.hpp"

#include <algorithm>
#include <cmath>

#include "core/exact_sum.hpp"

namespace tb {

void gaussian_estimate(std::size_t K, std::size_t d, const GaussianSums& s, const GaussianOptions& o,
                       const GaussianEstimate& out) {
  for (std::size_t j = 0; j < d; ++j) {
    double total = 0, within = 0, first = 0, grand = 0;  // the mean of all classes is first + grand
    std::size_t saw = 0;
    for (std::size_t c = 0; c < K; ++c) {
      const std::size_t i = c * d + j;
      if (s.n[i] <= 0) continue;
      if (saw++ == 0) first = s.mean[i];
      total += s.n[i];
      grand += ((s.mean[i] - first) + s.low[i] - grand) * (s.n[i] / total);  // no sum of n * mean: it could overflow
      within += s.m2[i];
    }
    double between = 0;
    for (std::size_t i = j; i < K * d; i += d) {
      const double gap = (s.mean[i] - first) + s.low[i] - grand;
      if (s.n[i] > 0) between += s.n[i] * gap * gap;
    }
    const Pair all = exact_sum(first, grand);
    const double spread = total > 0 ? (within + between) / total : 0.0;
    const double added = o.smoothing * spread;
    const double divisor = total - static_cast<double>(o.ddof) * static_cast<double>(saw);
    const double pooled = divisor > 0 ? within / divisor : 0.0;
    out.epsilon[j] = added;
    for (std::size_t i = j; i < K * d; i += d) {
      if (s.n[i] <= 0) {
        out.mean[i] = all.high, out.low[i] = all.low;
        out.var[i] = spread + added;
        continue;
      }
      const double own = s.n[i] - o.ddof > 0 ? s.m2[i] / (s.n[i] - o.ddof) : 0.0;
      out.mean[i] = s.mean[i], out.low[i] = s.low[i];
      out.var[i] = std::max((o.shared ? pooled : own) + added, 1e-15 * spread);
    }
  }
}

double log_share(double count, double total, double alpha, double levels) {
  const double down = total + alpha * levels;
  if (down <= 0) return -std::log(std::max(levels, 1.0));
  return std::log(count + alpha) - std::log(down);
}

}  // namespace tb
