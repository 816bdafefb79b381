// Roots of inverse covariances against their definition, in long double.
#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "core/math/inverse_roots.hpp"

namespace {

using namespace tb;

// A'A of a matrix with rows to spare, and the columns' units.
struct Covariance {
  Covariance(std::size_t d, unsigned seed) : d(d), s(d * d), unit(d) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const std::size_t n = 2 * d + 3;
    std::vector<double> a(n * d);
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = normal(random) * std::pow(10.0, static_cast<double>(i % d % 5) - 2.0);
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        for (std::size_t k = 0; k < n; ++k) s[i * d + j] += a[k * d + i] * a[k * d + j];
      }
      unit[i] = std::sqrt(s[i * d + i]);
    }
  }
  std::size_t d;
  std::vector<double> s, unit;
};

void check_root(const Covariance& c, const double* f, const Root& root) {
  const std::size_t d = c.d;
  std::vector<long double> half(d * d);  // F S
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      CHECK(j <= i || f[i * d + j] == 0.0);
      for (std::size_t k = 0; k <= i; ++k) half[i * d + j] += static_cast<long double>(f[i * d + k]) * c.s[k * d + j];
    }
  }
  long double log_det = 0, trace = 0;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      long double one = 0;
      for (std::size_t k = 0; k <= j; ++k) one += half[i * d + k] * f[j * d + k];
      CHECK(std::abs(one - (i == j)) < 1e-11L);
      trace += static_cast<long double>(f[i * d + j]) * f[i * d + j] * c.unit[j] * c.unit[j];
    }
    log_det -= 2 * std::log(static_cast<long double>(f[i * d + i]));
  }
  CHECK(std::abs(root.log_det - log_det) < 1e-12L * (1 + std::abs(log_det)));
  CHECK(std::abs(root.trace - trace) <= 1e-12L * trace);
}

}  // namespace

TEST(roots_of_inverses) {
  for (const std::size_t d : {0, 1, 2, 5, 12, 13, 47, 48, 49, 64, 97, 131}) {
    for (const std::size_t count : {0, 1, 3}) {
      std::vector<Covariance> from;
      std::vector<double> s, unit;
      for (std::size_t k = 0; k < count; ++k) {
        from.emplace_back(d, static_cast<unsigned>(d * 10 + k));
        s.insert(s.end(), from[k].s.begin(), from[k].s.end());
        unit.insert(unit.end(), from[k].unit.begin(), from[k].unit.end());
      }
      for (std::size_t k = 0; k < count; ++k) {  // what is above the diagonal is not read
        for (std::size_t i = 0; i < d; ++i)
          std::fill_n(s.begin() + static_cast<std::ptrdiff_t>((k * d + i) * d + i + 1), d - i - 1, 7.0);
      }
      std::vector<Root> found(count);
      roots(count, d, s.data(), unit.data(), found.data());
      for (std::size_t k = 0; k < count; ++k) check_root(from[k], s.data() + k * d * d, found[k]);
    }
  }
}

TEST(roots_of_what_is_not_positive) {
  for (const std::size_t d : {1, 3, 60, 140}) {
    for (const std::size_t bad : {std::size_t{0}, d / 2, d - 1}) {
      for (const double value : {-1.0, 0.0, std::nan("")}) {
        std::vector<double> s(d * d), unit(d, 1.0);
        for (std::size_t i = 0; i < d; ++i) s[i * (d + 1)] = i == bad ? value : 1.0;
        Root found{};
        roots(1, d, s.data(), unit.data(), &found);
        CHECK(std::isnan(found.log_det));
      }
    }
  }
}

TEST(normal_equations_from_a_root) {
  for (const std::size_t d : {0, 1, 3, 4, 9, 50}) {
    const Covariance c(d, 5);
    std::vector<double> f = c.s, a(3 * d), weight(3 * d), square(3);
    Root found{};
    roots(1, d, f.data(), c.unit.data(), &found);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<double>(i));
    solve_normal(f.data(), d, a.data(), 3, weight.data(), square.data());
    for (std::size_t k = 0; k < 3; ++k) {
      long double size = 0;
      for (std::size_t i = 0; i < d; ++i) {
        long double back = 0, scale = 1e-30L;  // S weight = a
        for (std::size_t j = 0; j < d; ++j) {
          back += static_cast<long double>(c.s[i * d + j]) * weight[k * d + j];
          scale += std::abs(static_cast<long double>(c.s[i * d + j]) * weight[k * d + j]);
        }
        CHECK(std::abs(back - a[k * d + i]) < 1e-10L * scale);
        size += static_cast<long double>(a[k * d + i]) * weight[k * d + i];
      }
      CHECK(std::abs(square[k] - size) <= 1e-10L * std::abs(size));
    }
  }
}
