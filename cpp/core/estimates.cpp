#include "core/estimates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/threads.hpp"
#include "kernels/logs.hpp"

namespace tb {

namespace {

constexpr std::size_t kSome = 16;  // columns side by side: the divisions of one need not wait for those of another

// gaussian_estimate of columns [j0, j0 + width), width at most kSome.
void estimate_some(std::size_t K, std::size_t d, std::size_t j0, std::size_t width, const GaussianSums& s,
                   const GaussianOptions& o, const GaussianEstimate& out) {
  double total[kSome] = {}, within[kSome] = {}, between[kSome] = {}, saw[kSome] = {};
  double first[kSome] = {}, grand[kSome] = {};  // the mean of all classes is first + grand
  for (std::size_t c = 0; c < K; ++c) {
    const double *n = s.n + c * d + j0, *mean = s.mean + c * d + j0, *low = s.low + c * d + j0, *m2 = s.m2 + c * d + j0;
    for (std::size_t j = 0; j < width; ++j) {
      const bool there = n[j] > 0;
      first[j] = there && saw[j] == 0 ? mean[j] : first[j];
      saw[j] += there ? 1.0 : 0.0;
      total[j] += there ? n[j] : 0.0;
      const double step = ((mean[j] - first[j]) + low[j] - grand[j]) * (n[j] / total[j]);
      grand[j] += there ? step : 0.0;  // no sum of n * mean: it could overflow
      within[j] += there ? m2[j] : 0.0;
    }
  }
  for (std::size_t c = 0; c < K; ++c) {
    const double *n = s.n + c * d + j0, *mean = s.mean + c * d + j0, *low = s.low + c * d + j0;
    for (std::size_t j = 0; j < width; ++j) {
      const double gap = (mean[j] - first[j]) + low[j] - grand[j];
      between[j] += n[j] > 0 ? n[j] * gap * gap : 0.0;
    }
  }
  double spread[kSome], added[kSome], pooled[kSome];
  for (std::size_t j = 0; j < width; ++j) {
    const double divisor = total[j] - static_cast<double>(o.ddof) * saw[j];
    spread[j] = total[j] > 0 ? (within[j] + between[j]) / total[j] : 0.0;
    added[j] = o.smoothing * spread[j];
    pooled[j] = divisor > 0 ? within[j] / divisor : 0.0;
    out.epsilon[j0 + j] = added[j];
  }
  for (std::size_t c = 0; c < K; ++c) {
    const std::size_t at = c * d + j0;
    for (std::size_t j = 0; j < width; ++j) {
      const double n = s.n[at + j], rows = n - o.ddof;
      const double own = rows > 0 ? s.m2[at + j] / rows : 0.0;
      const double var = std::max((o.shared ? pooled[j] : own) + added[j], 1e-15 * spread[j]);
      const Pair all = exact_sum(first[j], grand[j]);
      out.mean[at + j] = n > 0 ? s.mean[at + j] : all.high;
      out.low[at + j] = n > 0 ? s.low[at + j] : all.low;
      out.var[at + j] = n > 0 ? var : spread[j] + added[j];
    }
  }
}

}  // namespace

void gaussian_estimate(std::size_t K, std::size_t d, const GaussianSums& s, const GaussianOptions& o,
                       const GaussianEstimate& out) {
  for (std::size_t j0 = 0; j0 < d; j0 += kSome) estimate_some(K, d, j0, std::min(kSome, d - j0), s, o, out);
}

void log_prior(const double* weight, std::size_t K, double added, double* out) {
  const double total = tree_sum(weight, K) + static_cast<double>(K) * added;
  for (std::size_t c = 0; c < K; ++c) out[c] = (weight[c] + added) / total;
  TB_CALL(logs, out, K, out);
}

double tree_sum(const double* x, std::size_t n) {
  if (n == 0) return 0.0;
  if (n == 1) return x[0];
  if (n == 2) return x[0] + x[1];
  if (n == 8) return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));  // in fewer calls
  const std::size_t half = std::bit_ceil(n) / 2;
  return tree_sum(x, half) + tree_sum(x + half, n - half);
}

bool LevelSizes::fill(std::size_t levels) const {
  for (std::size_t j = 0; j < d; ++j) {
    if (size[j] < 0 || static_cast<std::size_t>(size[j]) > levels) return false;
    levels -= static_cast<std::size_t>(size[j]);
  }
  return levels == 0;
}

void level_totals(std::size_t K, const LevelSizes& columns, const double* count, double* out) {
  for (std::size_t c = 0; c < K; ++c) {
    for (std::size_t j = 0; j < columns.d; ++j) {
      const auto size = static_cast<std::size_t>(columns.size[j]);
      *out++ = tree_sum(count, size);
      count += size;
    }
  }
}

void threshold_estimate(std::size_t K, std::size_t d, const double* no, const double* yes, const double* alpha,
                        double* log_no, double* log_yes) {
  std::vector<double> down(d), log_down(d);
  for (std::size_t first = 0; first < K * d; first += d) {
    for (std::size_t j = 0; j < d; ++j) {
      const std::size_t i = first + j;
      down[j] = (no[i] + yes[i]) + 2.0 * alpha[j];
      log_no[i] = no[i] + alpha[j];
      log_yes[i] = yes[i] + alpha[j];
    }
    TB_CALL(logs, down.data(), d, log_down.data());
    TB_CALL(logs, log_no + first, d, log_no + first);
    TB_CALL(logs, log_yes + first, d, log_yes + first);
    for (std::size_t j = 0; j < d; ++j) {
      const std::size_t i = first + j;
      const bool some = down[j] > 0;  // else nothing was counted and nothing is added: either is as likely
      log_no[i] = some ? log_no[i] - log_down[j] : -std::numbers::ln2;
      log_yes[i] = some ? log_yes[i] - log_down[j] : -std::numbers::ln2;
    }
  }
}

void poisson_estimate(std::size_t K, std::size_t d, const double* n, const double* sum, const double* alpha,
                      const PoissonEstimate& out) {
  std::vector<double> overall(d, 0.0), rows(d, 0.0);
  for (std::size_t i = 0; i < K * d; ++i) overall[i % d] += sum[i], rows[i % d] += n[i];
  for (std::size_t j = 0; j < d; ++j) overall[j] /= std::max(rows[j], std::numeric_limits<double>::min());
  for (std::size_t i = 0; i < K * d; ++i) {
    const double mean = overall[i % d], a = alpha[i % d], down = n[i] + a;
    out.rate[i] = down > 0 ? (sum[i] + a * mean) / down : mean;
  }
  TB_CALL(logs, out.rate, K * d, out.weight);
  for (std::size_t i = 0; i < K * d; ++i) {
    const bool silent = overall[i % d] == 0;  // a column of zeros says nothing
    if (silent) out.weight[i] = 0.0;
    out.bias[i] = silent ? 0.0 : -out.rate[i];
  }
}

namespace {

void log_shares_of_one(std::size_t d, double* a) {
  const double total = tree_sum(a, d);
  if (total == 0) {
    std::fill_n(a, d, -std::log(static_cast<double>(d)));
    return;
  }
  double log_total;
  TB_CALL(logs, &total, 1, &log_total);
  TB_CALL(logs, a, d, a);
  for (std::size_t j = 0; j < d; ++j) a[j] -= log_total;
}

}  // namespace

void log_shares(std::size_t K, std::size_t d, double* a) {
  for (std::size_t c = 0; c < K; ++c) log_shares_of_one(d, a + c * d);
}

void log_shares(std::size_t K, std::size_t d, const double* sum, const double* alpha, double* out) {
  constexpr std::size_t few = 1 << 14;  // numbers that are not worth a thread
  const std::size_t classes = std::max<std::size_t>(1, few / std::max<std::size_t>(1, d));
  const auto some = [&](std::size_t b, int) {
    for (std::size_t c = b * classes; c < std::min(K, (b + 1) * classes); ++c) {
      for (std::size_t j = 0; j < d; ++j) out[c * d + j] = sum[c * d + j] + alpha[j];
      log_shares_of_one(d, out + c * d);
    }
  };
  if (K <= classes) return some(0, 0);
  parallel_for((K + classes - 1) / classes, some);
}

}  // namespace tb
