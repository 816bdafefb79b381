// Weights of terms on shapes that a sanitizer should see: any number of terms, classes and rows, rows that take no
// part.
#include "core/ensemble/stacking.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "test/check.hpp"

using namespace tb;

namespace {

// d objective / d v_d and d b_c at the answer.
std::vector<double> gradient(const StackingData& p, const RidgePenalty& pull, const Weights& at) {
  std::vector<double> g(p.terms + p.classes);
  for (std::size_t d = 0; d < p.terms; ++d) g[d] = pull.ridge[d] * (at.v[d] - pull.centre[d]);
  for (std::size_t c = 0; c < p.classes; ++c) g[p.terms + c] = pull.bias_ridge * at.b[c];
  const auto term = [&](std::size_t d, std::size_t t, std::size_t c) {
    return p.term[(d * p.rows + t) * p.classes + c];
  };
  for (std::size_t t = 0; t < p.rows; ++t) {
    if (p.y[t] < 0 || std::isinf(p.start[t * p.classes + static_cast<std::size_t>(p.y[t])])) continue;
    std::vector<double> J(p.classes);
    double sum = 0;
    for (std::size_t c = 0; c < p.classes; ++c) {
      J[c] = p.start[t * p.classes + c] + at.b[c];
      for (std::size_t d = 0; d < p.terms; ++d) J[c] += at.v[d] * static_cast<double>(term(d, t, c));
      sum += std::exp(J[c]);
    }
    for (std::size_t c = 0; c < p.classes; ++c) {
      const double r = p.w[t] * (std::exp(J[c]) / sum - (static_cast<std::size_t>(p.y[t]) == c));
      for (std::size_t d = 0; d < p.terms; ++d) g[d] += r * static_cast<double>(term(d, t, c));
      g[p.terms + c] += r;
    }
  }
  return g;
}

}  // namespace

TEST(weights_of_any_shape) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {0, 1, 15, 16, 17, 600}) {
    for (const std::size_t K : {1, 2, 3, 11}) {
      for (const std::size_t D : {0, 1, 3, 4, 9}) {
        std::vector<float> term(D * n * K);
        std::vector<double> start(n * K), w(n), centre(D, 0.2), ridge(D, 0.5);
        std::vector<std::int32_t> y(n);
        for (float& t : term) t = static_cast<float>(normal(random));
        for (double& s : start) s = random() % 9 ? normal(random) : -std::numeric_limits<double>::infinity();
        for (std::size_t t = 0; t < n; ++t) {
          y[t] = static_cast<std::int32_t>(random() % (K + 1)) - 1;
          w[t] = random() % 3 * 0.5;
        }
        std::vector<std::uint8_t> flag(n);
        for (std::uint8_t& f : flag) f = random() % 2;
        const StackingData p{
            D, n, K, term.data(), y.data(), w.data(), start.data(), reinterpret_cast<const bool*>(flag.data())};
        const RidgePenalty pull{centre.data(), ridge.data(), 1.0, nullptr};
        const StackingProblem search(p);
        const Weights found = search.fit(Fold::both, pull, 30);
        const double halves = search.loss(Fold::first, found.v.data(), found.b.data()) +
                              search.loss(Fold::second, found.v.data(), found.b.data());
        CHECK(std::abs(halves - found.loss) <= 1e-9 * (1 + found.loss));
        for (const Fold half : {Fold::first, Fold::second}) CHECK(search.fit(half, pull, 5).taken <= 5);
        CHECK(found.v.size() == D && found.b.size() == K && found.taken <= 30 && found.loss >= 0);
        for (const double g : gradient(p, pull, found)) CHECK(std::abs(g) < 0.02);
      }
    }
  }
}
