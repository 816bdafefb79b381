#include "core/density/kernel_bandwidth.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "core/runtime/threads.hpp"

namespace tb {
namespace {

// The standard deviation as R has it (N - 1). Weights that were scaled down may add up to less than two
// observations; from there on N / 2 takes the place of N - 1, which would reach 0.
double deviation(const Multiset& e, double N, double scale) {
  double mean = 0;
  for (std::size_t i = 0; i < e.size; ++i) mean += e.weight[i] / N * (e.value[i] * scale);
  double sum = 0;
  for (std::size_t i = 0; i < e.size; ++i) {
    const double r = e.value[i] * scale - mean;
    sum += e.weight[i] * r * r;
  }
  return std::sqrt(sum / std::max(N - 1, N / 2));
}

// The two quartiles by R's type 7: position (N - 1) p among the values, each repeated as often as it weighs.
double quartile_range(const Multiset& e, double N, double scale) {
  const auto quantile = [&](double p) {
    const double position = std::max(0.0, (N - 1) * p), whole = std::floor(position);
    std::size_t i = 0;
    double below = e.weight[0];  // weight of the values up to i
    while (below <= whole && i + 1 < e.size) below += e.weight[++i];
    const double low = e.value[i] * scale;
    while (below <= whole + 1 && i + 1 < e.size) below += e.weight[++i];
    return low + (position - whole) * (e.value[i] * scale - low);
  };
  return quantile(0.75) - quantile(0.25);
}

}  // namespace

double bandwidth(const Multiset& e, Rule rule) {
  if (e.size < 2) return 0;
  double N = 0;
  for (std::size_t i = 0; i < e.size; ++i) N += e.weight[i];
  // A power of two brings the largest value to about 1/4: squares and differences then stay in range, and no bit is
  // lost.
  int exponent;
  std::frexp(std::max(std::fabs(e.value[0]), std::fabs(e.value[e.size - 1])), &exponent);
  const double up = std::ldexp(1.0, std::min(1000, -exponent - 1));
  const double sd = rule == Rule::john_langley ? 0 : deviation(e, N, up);
  double h = 0;
  switch (rule) {
    case Rule::silverman: {
      const double iqr = quartile_range(e, N, up) / 1.34;
      h = 0.9 * (iqr > 0 ? std::min(sd, iqr) : sd) * std::pow(N, -0.2);
      break;
    }
    case Rule::scott:
      h = 1.06 * sd * std::pow(N, -0.2);
      break;
    case Rule::john_langley:
      h = (e.value[e.size - 1] * up - e.value[0] * up) / std::sqrt(N);
      break;
  }
  h = std::min(h / up, DBL_MAX);
  return h >= 2 * DBL_MIN ? h : 0;
}

void kernel_bandwidths(const KernelView& statistics, Rule rule, std::size_t K, double* h) {
  const std::size_t d = statistics.entries / K;
  const bool small = statistics.start[statistics.entries] < 32768;  // a team of threads would cost more than it saves
  const std::size_t blocks = small ? std::min<std::size_t>(statistics.entries, 1) : statistics.entries;
  parallel_for(blocks, [&](std::size_t block, int) {
    for (std::size_t e = block; e < statistics.entries; e += blocks)
      h[(e % K) * d + e / K] = bandwidth(statistics[e], rule);
  });
}

}  // namespace tb
