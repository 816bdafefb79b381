#include "core/ensemble/leave_one_out_normal.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/math/inverse_roots.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/logs.hpp"

namespace tb {
namespace {

constexpr std::size_t kRows = 256;  // at a time
constexpr double kMinDivisor = 1e-9;

double product(const double* a, const double* b, std::size_t n) {
  double s[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) s[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) s[0] += a[i] * b[i];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// From the mean of a row's class y to that of class k, (k, y): root'root of it, its length, and where the mean of k is.
// Only of the classes y that some row has.
struct Between {
  explicit Between(const LeaveOneOutNormal& t) : place(t.classes, t.classes) {
    const std::size_t K = t.classes, p = t.columns;
    std::vector<std::size_t> present;
    for (std::size_t r = 0; r < t.rows; ++r) place[static_cast<std::size_t>(t.y[r])] = 0;
    for (std::size_t y = 0; y < K; ++y) {
      if (place[y] == K) continue;
      place[y] = present.size();
      present.push_back(y);
    }
    count = present.size();
    toward.resize(K * count * p);
    apart.resize(K * count);
    at_mean.resize(K * count);
    std::vector<double> step(count * p);
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < p; ++j) step[i * p + j] = t.mean[k * p + j] - t.mean[present[i] * p + j];
      }
      solve_normal(t.root + k * p * p, p, step.data(), count, toward.data() + k * count * p, apart.data() + k * count);
      for (std::size_t i = k * count; i < (k + 1) * count; ++i) {
        at_mean[i] = product(toward.data() + i * p, t.mean + k * p, p);
      }
    }
  }
  std::size_t at(std::size_t k, std::size_t y) const { return k * count + place[y]; }

  std::size_t count = 0;
  std::vector<std::size_t> place;
  std::vector<double> toward, apart, at_mean;
};

// Distances and what is left of the determinants, of some rows.
void distances(const LeaveOneOutNormal& t, const Between& b, std::size_t first, std::size_t rows, double* distance,
               double* left) {
  const std::size_t K = t.classes, p = t.columns;
  for (std::size_t r = first; r < first + rows; ++r, distance += K, left += K) {
    const auto y = static_cast<std::size_t>(t.y[r]);
    const double unit = t.unit[r], grow = t.n[y] / std::max(t.n[y] - unit, kMinDivisor);
    for (std::size_t k = 0; k < K; ++k) {
      const bool own = k == y;
      const double far = -2 * t.half[r * K + k];
      const std::size_t at = b.at(k, y);
      const double along = product(t.z + r * p, &b.toward[at * p], p) - b.at_mean[at];
      const double e = std::max(far + 2 * along + b.apart[at], 0.0);
      const double share = (1 - t.diagonal) * (own ? 1.0 : t.shared) * unit * grow / t.below[k];
      left[k] = std::max(1 - share * e, kMinDivisor);
      const double other = (far + along) * (far + along);
      distance[k] = own ? grow * grow * e / left[k] : far + share * other / left[k];
    }
  }
}

}  // namespace

bool leave_one_out_normal(const LeaveOneOutNormal& t, double* out) {
  const std::size_t K = t.classes, blocks = (t.rows + kRows - 1) / kRows;
  const Between between(t);
  std::vector<char> good(blocks, 1);
  parallel_for(blocks, [&](std::size_t block, int) {
    const std::size_t first = block * kRows, rows = std::min(kRows, t.rows - first);
    std::vector<double> distance(rows * K), left(rows * K), grown(rows * K);
    distances(t, between, first, rows, distance.data(), left.data());
    TB_CALL(logs, left.data(), left.size(), left.data());
    for (std::size_t f = 0; f < t.freedoms; ++f) {
      const double nu = t.freedom[f], times = (nu + static_cast<double>(t.columns)) / 2;
      const bool normal = std::isinf(nu);
      for (std::size_t i = 0; i < grown.size(); ++i) grown[i] = normal ? distance[i] / 2 : 1 + distance[i] / nu;
      if (!normal) TB_CALL(logs, grown.data(), grown.size(), grown.data());
      double* to = out + (f * t.rows + first) * K;
      double odd = 0;  // becomes NaN when it meets one or an infinity
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t k = 0; k < K; ++k) {
          const std::size_t i = r * K + k;
          to[i] = -0.5 * (t.log_det[k] + left[i]) - (normal ? grown[i] : times * grown[i]);
          odd += to[i] * 0.0;
        }
      }
      if (!(odd == 0.0)) good[block] = 0;
    }
  });
  return std::find(good.begin(), good.end(), 0) == good.end();
}

}  // namespace tb
