#include "core/discriminant/leave_one_out.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "core/runtime/dispatch.hpp"

using namespace tb;

namespace {

// Covariances along the axes: what the losses are can then be said in a few lines.
struct Case {
  std::size_t n, d, classes;
  double weight;  // of a row: small ones give a series, large ones are divided out
  std::vector<double> x, mean, low, prior, size, step, grow, one, own_prior, value, share, trace, level, log_det;
  std::vector<double> gamma{0.0, 0.25, 1.0};
  std::vector<Column> col;
  std::vector<std::uint32_t> row;
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> frame;
  std::vector<double> vector;

  Case(std::size_t per_class, std::size_t d_, std::size_t k, double w)
      : n(per_class * k), d(d_), classes(k), weight(w) {
    std::mt19937 gen(3);
    std::uniform_real_distribution<double> u(-1.0, 1.0);
    for (std::size_t i = 0; i < n * d; ++i) x.push_back(u(gen));
    for (std::size_t i = 0; i < k * d; ++i) mean.push_back(u(gen) / 2), low.push_back(u(gen) / 1000);
    for (std::size_t j = 0; j < d; ++j)
      col.push_back({reinterpret_cast<const char*>(&x[j]), static_cast<std::ptrdiff_t>(d * 8), Dtype::f64});
    for (std::size_t c = 0; c <= k; ++c) start.push_back(static_cast<std::int64_t>(c * per_class));
    for (std::size_t i = 0; i < n; ++i) {
      row.push_back(static_cast<std::uint32_t>(n - 1 - i));
      double s = 0.0;
      for (std::size_t j = 0; j < d; ++j) s += away(i, j, i / per_class) * away(i, j, i / per_class);
      size.push_back(s), step.push_back(w), grow.push_back(1.0 + w), one.push_back(1.0), own_prior.push_back(-0.5);
    }
    prior.assign(k, -0.25);
    for (std::size_t f = 0; f < 2 * k; ++f) {  // frame f: class f % k; the first k are for rows of other classes
      double sum = 0.0;
      for (std::size_t j = 0; j < d; ++j) value.push_back(1.5 + u(gen)), sum += value.back();
      for (std::size_t i = 0; i < d * d; ++i) vector.push_back(i % (d + 1) == 0 ? 1.0 : 0.0);
      share.push_back(f < k ? 0.5 : 1.0), trace.push_back(sum), level.push_back(sum / static_cast<double>(d));
      frame.push_back(static_cast<std::int32_t>(f));
      for (std::size_t p = 0; p < kLogDetTerms; ++p) {
        for (const double g : gamma) {
          double term = 0.0;
          for (std::size_t j = 0; j < d; ++j) {
            const double G = (1 - g) * value[f * d + j] + g * level[f];
            term +=
                p == 0 ? std::log(G) : -std::pow(-g * level[f] / G, static_cast<double>(p)) / static_cast<double>(p);
          }
          log_det.push_back(term);
        }
      }
    }
  }
  double away(std::size_t i, std::size_t j, std::size_t c) const {
    return x[row[i] * d + j] - mean[c * d + j] - low[c * d + j];
  }

  LeaveOneOut job() const {
    return {{n, d, col.data(), true},
            mean.data(),
            low.data(),
            prior.data(),
            classes,
            1,
            gamma.size(),
            gamma.data(),
            frame.data(),
            0,
            {n, row.data(), start.data(), size.data(), step.data(), grow.data(), one.data(), own_prior.data()},
            {2 * classes, vector.data(), value.data(), share.data(), trace.data(), level.data(), log_det.data()}};
  }

  double want(double g) const {
    long double loss = 0.0L;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t own = i / (n / classes);
      std::vector<long double> score;
      for (std::size_t l = 0; l < classes; ++l) {
        const std::size_t f = (l == own ? classes : 0) + l;
        const long double b = weight * share[f], m = (trace[f] - b * size[i]) / d;
        long double ee = 0, ze = 0, zz = 0, logs = 0;
        for (std::size_t j = 0; j < d; ++j) {
          const long double G = (1 - g) * value[f * d + j] + g * m, e = away(i, j, own);
          const long double z = l == own ? e * grow[i] : away(i, j, l);
          ee += e * e / G, ze += z * e / G, zz += z * z / G, logs += std::log(G);
        }
        const long double h = 1 - (1 - g) * b * ee;
        score.push_back((l == own ? own_prior[i] : prior[l]) -
                        (logs + std::log(h) + zz + (1 - g) * b * ze * ze / h) / 2);
      }
      long double sum = 0;
      for (const long double s : score) sum += std::exp(s - score[own]);
      loss += std::log(sum);
    }
    return static_cast<double>(loss);
  }
};

}  // namespace

TEST(left_out_losses_of_axes) {
  const Isa best = isa();
  for (const Isa most : {Isa::base, Isa::avx2, Isa::avx512}) {
    limit_isa(most);
    for (const std::size_t d : {1, 3, 8, 13}) {
      for (const double weight : {0.05, 1e-3, 1e-6, 0.0}) {
        const Case t(70, d, 3, weight);
        std::vector<double> loss(t.gamma.size());
        leave_one_out_losses(t.job(), loss.data());
        for (std::size_t g = 0; g < t.gamma.size(); ++g) CHECK_NEAR(loss[g], t.want(t.gamma[g]), 1e-9);
      }
    }
  }
  limit_isa(best);
}
