#include "core/discriminant/leave_one_out_diagonal.hpp"

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "core/runtime/dispatch.hpp"

using namespace tb;

namespace {

struct Case {
  std::size_t n = 21, K = 3, d;
  std::vector<double> away, own, shared, level, prior, weight, alpha{0.0, 0.4, 1.0}, gamma{0.0, 0.5, 1.0};
  std::vector<std::uint8_t> there;
  std::vector<std::int32_t> y;

  explicit Case(std::size_t columns) : d(columns) {
    std::mt19937 gen(5);
    std::uniform_real_distribution<double> u(0.1, 3.0);
    const auto fill = [&](std::vector<double>& v, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) v.push_back(u(gen));
    };
    fill(away, n * K * d), fill(own, n * K * d), fill(shared, n * d), fill(level, n * (K + 1));
    fill(prior, n * K), fill(weight, n);
    for (std::size_t i = 0; i < n * d; ++i) there.push_back(i % 7 != 3);
    for (std::size_t i = 0; i < n; ++i) y.push_back(static_cast<std::int32_t>(i % K));
  }

  LeaveOneOutDiagonal job() const {
    return {n,
            K,
            d,
            alpha.size(),
            gamma.size(),
            away.data(),
            own.data(),
            shared.data(),
            level.data(),
            there.data(),
            prior.data(),
            y.data(),
            weight.data(),
            alpha.data(),
            gamma.data()};
  }

  double score(std::size_t i, std::size_t k, double a, double g) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      if (there[i * d + j] == 0) continue;
      const double mixed = a * own[(i * K + k) * d + j] + (1 - a) * shared[i * d + j];
      const double v = (1 - g) * mixed + g * (a * level[i * (K + 1) + k] + (1 - a) * level[i * (K + 1) + K]);
      sum += std::log(v) + away[(i * K + k) * d + j] / v;
    }
    return prior[i * K + k] - sum / 2;
  }

  double loss(double a, double g) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      double all = 0.0;
      for (std::size_t k = 0; k < K; ++k) all += std::exp(score(i, k, a, g));
      sum += weight[i] * (std::log(all) - score(i, static_cast<std::size_t>(y[i]), a, g));
    }
    return sum;
  }
};

}  // namespace

TEST(left_out_axes_are_the_definition) {
  for (const std::size_t d : {1, 6, 40}) {
    const Case c(d);
    for (const Isa most : {Isa::base, Isa::avx2, Isa::avx512}) {
      limit_isa(most);
      std::vector<double> got(c.alpha.size() * c.gamma.size());
      leave_one_out_diagonal(c.job(), got.data());
      for (std::size_t p = 0; p < got.size(); ++p) CHECK_NEAR(got[p], c.loss(c.alpha[p / 3], c.gamma[p % 3]), 1e-10);
    }
    limit_isa(Isa::avx512);
  }
}

TEST(left_out_axes_refuse_a_class_that_is_not_there) {
  Case c(2);
  c.y[4] = 3;
  std::vector<double> got(9);
  bool refused = false;
  try {
    leave_one_out_diagonal(c.job(), got.data());
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}
