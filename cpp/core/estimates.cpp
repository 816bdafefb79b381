#include "core/estimates.hpp"

#include <algorithm>
#include <cmath>

namespace tb {

void gaussian_estimate(std::size_t K, std::size_t d, const double* n, const double* mean, const double* m2,
                       const GaussianOptions& o, double* mean_out, double* var_out, double* epsilon) {
  for (std::size_t j = 0; j < d; ++j) {
    double total = 0, within = 0, grand = 0;
    std::size_t saw = 0;
    for (std::size_t c = 0; c < K; ++c) {
      const double nc = n[c * d + j];
      if (nc <= 0) continue;
      ++saw;
      total += nc;
      grand += (mean[c * d + j] - grand) * (nc / total);  // no sum of n * mean: it could overflow
      within += m2[c * d + j];
    }
    double between = 0;
    for (std::size_t c = 0; c < K; ++c) {
      const double gap = mean[c * d + j] - grand;
      if (n[c * d + j] > 0) between += n[c * d + j] * gap * gap;
    }
    const double spread = total > 0 ? (within + between) / total : 0.0;
    const double added = o.smoothing * spread;
    const double divisor = total - static_cast<double>(o.ddof) * static_cast<double>(saw);
    const double pooled = divisor > 0 ? within / divisor : 0.0;
    epsilon[j] = added;
    for (std::size_t c = 0; c < K; ++c) {
      const std::size_t i = c * d + j;
      if (n[i] <= 0) {
        mean_out[i] = grand;
        var_out[i] = spread + added;
        continue;
      }
      const double own = n[i] - o.ddof > 0 ? m2[i] / (n[i] - o.ddof) : 0.0;
      mean_out[i] = mean[i];
      var_out[i] = std::max((o.shared ? pooled : own) + added, 1e-15 * spread);
    }
  }
}

double log_share(double count, double total, double alpha, double levels) {
  const double down = total + alpha * levels;
  if (down <= 0) return -std::log(std::max(levels, 1.0));
  return std::log(count + alpha) - std::log(down);
}

}  // namespace tb
