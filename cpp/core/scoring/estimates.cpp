#include "core/scoring/estimates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/math/double_double.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/logs.hpp"

namespace tb {

namespace {

constexpr std::size_t kColumnsAtOnce =
    8;  // columns side by side: the divisions of one need not wait for those of another

// gaussian_estimate of columns [j0, j0 + width), width at most kColumnsAtOnce. A class without rows has zeros for sums,
// which add nothing; so there is hardly a choice in these loops, and the compiler takes several columns at once.
void estimate_some(std::size_t K, std::size_t d, std::size_t j0, std::size_t width, const GaussianSums& s,
                   const GaussianOptions& o, const GaussianEstimate& out) {
  double total[kColumnsAtOnce] = {}, within[kColumnsAtOnce] = {}, between[kColumnsAtOnce] = {},
         saw[kColumnsAtOnce] = {};
  double first[kColumnsAtOnce] = {}, grand[kColumnsAtOnce] = {};  // the mean of all classes is first + grand
  for (std::size_t c = 0; c < K; ++c) {
    const double *n = s.n + c * d + j0, *mean = s.mean + c * d + j0, *low = s.low + c * d + j0, *m2 = s.m2 + c * d + j0;
    for (std::size_t j = 0; j < width; ++j) {
      const double here = mean[j], was = first[j];
      first[j] = saw[j] == 0 ? here : was;
      total[j] += n[j];
      within[j] += m2[j];
      const double rows = total[j] + std::numeric_limits<double>::min();    // itself, and never 0
      grand[j] += ((here - first[j]) + low[j] - grand[j]) * (n[j] / rows);  // no sum of n * mean: it could overflow
      saw[j] += n[j] > 0 ? 1.0 : 0.0;
    }
  }
  for (std::size_t c = 0; c < K; ++c) {
    const double *n = s.n + c * d + j0, *mean = s.mean + c * d + j0, *low = s.low + c * d + j0;
    for (std::size_t j = 0; j < width; ++j) {
      const double delta = (mean[j] - first[j]) + low[j] - grand[j];
      between[j] += n[j] * delta * delta;
    }
  }
  double spread[kColumnsAtOnce], added[kColumnsAtOnce], pooled[kColumnsAtOnce], high[kColumnsAtOnce],
      rest[kColumnsAtOnce];
  const double ddof = o.ddof, smoothing = o.smoothing;
  const bool shared = o.shared;
  for (std::size_t j = 0; j < width; ++j) {
    const double divisor = total[j] - ddof * saw[j];
    const double of_all = (within[j] + between[j]) / total[j], of_classes = within[j] / divisor;
    spread[j] = total[j] > 0 ? of_all : 0.0;
    pooled[j] = divisor > 0 ? of_classes : 0.0;
    added[j] = smoothing * spread[j];
    const Pair all = exact_sum(first[j], grand[j]);
    high[j] = all.high, rest[j] = all.low;
  }
  std::copy_n(added, width, out.epsilon + j0);
  for (std::size_t c = 0; c < K; ++c) {
    const std::size_t at = c * d + j0;
    const double *n = s.n + at, *mean = s.mean + at, *low = s.low + at, *m2 = s.m2 + at;
    double* __restrict out_mean = out.mean + at, * __restrict out_low = out.low + at, * __restrict out_var = out.var + at;
    for (std::size_t j = 0; j < width; ++j) {
      const double here = mean[j], all = high[j];
      out_mean[j] = n[j] > 0 ? here : all;
    }
    for (std::size_t j = 0; j < width; ++j) {
      const double here = low[j], all = rest[j];
      out_low[j] = n[j] > 0 ? here : all;
    }
    for (std::size_t j = 0; j < width; ++j) {
      const double of_own = m2[j] / (n[j] - ddof), own = n[j] - ddof > 0 ? of_own : 0.0, together = pooled[j];
      const double raised = (shared ? together : own) + added[j], least = 1e-15 * spread[j];
      out_var[j] = raised < least ? least : raised;
    }
    for (std::size_t j = 0; j < width; ++j) {
      const double here = out_var[j], all = spread[j] + added[j];
      out_var[j] = n[j] > 0 ? here : all;
    }
  }
}

}  // namespace

void gaussian_estimate(std::size_t K, std::size_t d, const GaussianSums& s, const GaussianOptions& o,
                       const GaussianEstimate& out) {
  for (std::size_t j0 = 0; j0 < d; j0 += kColumnsAtOnce)
    estimate_some(K, d, j0, std::min(kColumnsAtOnce, d - j0), s, o, out);
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

namespace {

// Whether all columns have the counts of the first: numbers above 0 of which none is missing, for example.
bool columns_alike(std::size_t K, std::size_t d, const double* no, const double* yes, const double* alpha) {
  for (std::size_t first = 0; first < K * d; first += d) {
    for (std::size_t j = 1; j < d; ++j) {
      if (no[first + j] != no[first] || yes[first + j] != yes[first] || alpha[j] != alpha[0]) return false;
    }
  }
  return true;
}

}  // namespace

void threshold_estimate(std::size_t K, std::size_t d, const double* no, const double* yes, const double* alpha,
                        double* log_no, double* log_yes) {
  const bool alike = d > 1 && columns_alike(K, d, no, yes, alpha);
  const std::size_t width = alike ? 1 : d, cells = K * width;  // logarithms are computed once for equal columns
  std::vector<double> room(4 * cells);
  double *down = room.data(), *log_down = down + cells, *a = log_down + cells, *b = a + cells;
  for (std::size_t c = 0; c < K; ++c) {
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t i = c * d + j, to = c * width + j;
      down[to] = (no[i] + yes[i]) + 2.0 * alpha[j];
      a[to] = no[i] + alpha[j];
      b[to] = yes[i] + alpha[j];
    }
  }
  TB_CALL(logs, down, cells, log_down);
  TB_CALL(logs, a, 2 * cells, a);
  for (std::size_t i = 0; i < cells; ++i) {
    const bool some = down[i] > 0;  // else nothing was counted and nothing is added: either is as likely
    a[i] = some ? a[i] - log_down[i] : -std::numbers::ln2;
    b[i] = some ? b[i] - log_down[i] : -std::numbers::ln2;
  }
  for (std::size_t c = 0; c < K; ++c) {
    for (std::size_t j = 0; j < d; ++j) {
      const std::size_t from = c * width + (alike ? 0 : j);
      log_no[c * d + j] = a[from], log_yes[c * d + j] = b[from];
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
