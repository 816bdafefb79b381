// Scatter and scores of Gaussian discriminants against loops in long double.
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "core/runtime/dispatch.hpp"
#include "core/discriminant/marginal_scores.hpp"
#include "core/discriminant/quadratic_parts.hpp"
#include "core/moments/scatter.hpp"

namespace {

using namespace tb;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kHalfLog2Pi = 0.91893853320467274178;

// Doubles in row order, exactly as long as they must be, so that a read beyond the end is found.
struct Table {
  Table(std::size_t rows, std::size_t d, std::size_t classes, bool by_column = false)
      : x(rows * d),
        y(rows),
        w(rows),
        col(d),
        view{{rows, d, nullptr, !by_column && d > 0}, nullptr, nullptr, classes} {
    std::mt19937 random(static_cast<unsigned>(rows * 31 + d));
    std::normal_distribution<double> normal;
    for (double& v : x) v = normal(random);
    for (double& v : w) v = 0.1 + std::abs(normal(random));
    for (std::int32_t& c : y) c = static_cast<std::int32_t>(random() % classes);
    for (std::size_t j = 0; j < d; ++j) {
      col[j] = by_column ? Column{reinterpret_cast<const char*>(x.data() + j * rows), 8, Dtype::f64}
                         : Column{reinterpret_cast<const char*>(x.data() + j), static_cast<std::ptrdiff_t>(8 * d),
                                  Dtype::f64};
    }
    view.x.col = col.data();
    view.y = y.data();
  }
  Table(const Table&) = delete;
  double at(std::size_t i, std::size_t j) const { return x[view.x.row_major ? i * view.x.d + j : j * view.x.n + i]; }
  bool complete(std::size_t i) const {
    for (std::size_t j = 0; j < view.x.d; ++j) {
      if (std::isnan(at(i, j))) return false;
    }
    return true;
  }

  std::vector<double> x;
  std::vector<std::int32_t> y;
  std::vector<double> w;
  std::vector<Column> col;
  ClassTable view;
};

void check_scatter(const Table& t, bool pooled) {
  const std::size_t d = t.view.x.d, classes = t.view.classes;
  std::vector<double> n(classes), mean(classes * d), low(classes * d), s((pooled ? 1 : classes) * d * d);
  scatter(t.view, pooled, n.data(), mean.data(), low.data(), s.data());
  std::vector<long double> want(s.size());
  for (std::size_t c = 0; c < classes; ++c) {
    long double weight = 0;
    std::vector<long double> m(d);
    const auto each = [&](auto&& body) {
      for (std::size_t i = 0; i < t.view.x.n; ++i) {
        if (t.y[i] == static_cast<int>(c) && t.complete(i)) body(i, static_cast<long double>(t.view.w ? t.w[i] : 1.0));
      }
    };
    each([&](std::size_t i, long double w) {
      weight += w;
      for (std::size_t j = 0; j < d; ++j) m[j] += w * t.at(i, j);
    });
    CHECK_NEAR(n[c], static_cast<double>(weight), 1e-13);
    if (weight == 0) continue;
    for (std::size_t j = 0; j < d; ++j) CHECK(std::abs(mean[c * d + j] - (m[j] /= weight)) < 1e-14L);
    for (std::size_t j = 0; j < d; ++j) CHECK(std::abs(low[c * d + j]) <= 2e-16 * std::abs(mean[c * d + j]));
    each([&](std::size_t i, long double w) {
      for (std::size_t a = 0; a < d; ++a) {
        for (std::size_t b = 0; b < d; ++b) {
          want[((pooled ? 0 : c) * d + a) * d + b] += w * (t.at(i, a) - m[a]) * (t.at(i, b) - m[b]);
        }
      }
    });
  }
  for (std::size_t i = 0; i < s.size(); ++i) CHECK(std::abs(s[i] - want[i]) < 1e-12L * (1 + t.view.x.n));
}

// Many rows in chunks; large matrices, worked on together.
constexpr std::size_t kLarge[][3] = {{5000, 9, 4}, {300, 160, 9}};

template <class F>
void with_every_isa(F&& body) {
  for (const Isa isa : {Isa::base, Isa::avx2, Isa::avx512}) {
    limit_isa(isa);
    body();
  }
  limit_isa(Isa::avx512);
}

}  // namespace

TEST(scatter_of_every_shape) {
  with_every_isa([] {
    for (const std::size_t d : {1, 2, 5, 12, 13, 16, 25}) {
      for (const std::size_t n : {0, 1, 7, 130, 400}) {
        for (const bool by_column : {false, true}) {
          Table t(n, d, 3, by_column);
          for (const bool pooled : {false, true}) {
            t.view.w = nullptr;
            check_scatter(t, pooled);
            t.view.w = t.w.data();
            check_scatter(t, pooled);
          }
        }
      }
    }
  });
}

TEST(scatter_by_rows_and_by_tiles) {
  with_every_isa([] {
    for (const auto& [n, d, classes] : kLarge) {
      Table t(n, d, classes);
      t.x[3 * t.view.x.d + 2] = kNan;
      t.x[t.x.size() - 1] = kNan;
      check_scatter(t, false);
      check_scatter(t, true);
    }
  });
}

TEST(scatter_names_the_first_infinity) {
  for (const auto& [rows, d, classes] : kLarge) {
    Table t(rows, d, classes);
    t.x[280 * d + 1] = kInf;
    t.x[250 * d + 3] = -kInf;
    t.x[250 * d + 4] = kInf;
    std::vector<double> n(9), mean(9 * d), s(9 * d * d), wide(9 * d * d), wider(9 * d * d), low(9 * d * d);
    for (const bool pairwise : {false, true}) {
      try {
        if (pairwise)
          pairwise_scatter(t.view, false, wide.data(), wider.data(), low.data(), s.data());
        else
          scatter(t.view, false, n.data(), mean.data(), low.data(), s.data());
        CHECK(false);
      } catch (const BadValue& bad) {
        CHECK(bad.kind == BadValue::infinite && bad.row == 250 && bad.col == 3);
      }
    }
  }
}

TEST(pairwise_scatter_of_complete_rows_is_the_scatter) {
  const Table t(700, 14, 3);
  const std::size_t d = 14;
  std::vector<double> n(3), mean(3 * d), s(3 * d * d), pn(3 * d * d), pm(3 * d * d), ps(3 * d * d), low(3 * d * d);
  scatter(t.view, false, n.data(), mean.data(), low.data(), s.data());
  pairwise_scatter(t.view, false, pn.data(), pm.data(), low.data(), ps.data());
  for (std::size_t at = 0; at < s.size(); ++at) {
    CHECK(pn[at] == n[at / (d * d)]);
    CHECK(std::abs(pm[at] - mean[at / d]) < 1e-14);
    CHECK(std::abs(ps[at] - s[at]) < 1e-10);
  }
}

TEST(quadratic_and_affine_scores) {
  with_every_isa([] {
    for (const std::size_t d : {1, 3, 6, 8, 13, 32}) {
      for (const std::size_t n : {0, 1, 9, 64, 150}) {
        for (const std::size_t classes : {1, 2, 7}) {
          Table t(n, d, classes), m(classes, d, 1), f(classes * d, d, 1), b(classes, 1, 1);
          std::vector<double> low(classes * d);
          for (std::size_t i = 0; i < low.size(); ++i) low[i] = 0.001 * static_cast<double>(i % 5);
          if (n > 5) t.x[5 * d] = kNan;
          for (const bool shared : {false, true}) {
            RowFlags missing(n);
            const Quadratic q{m.x.data(), low.data(), f.x.data(), shared, b.x.data(), classes};
            const auto part = quadratic_part(t.view.x, q, missing);
            std::vector<double> out(n * classes);
            part_scores(*part, n, classes, missing, out.data());
            for (std::size_t i = 0; i < n * classes; ++i) {
              const std::size_t row = i / classes, c = i % classes;
              long double want = b.x[c];
              for (std::size_t a = 0; a < d; ++a) {
                long double z = 0;
                for (std::size_t k = 0; k <= a; ++k) {
                  const long double from_mean =
                      static_cast<long double>(t.x[row * d + k]) - m.x[c * d + k] - low[c * d + k];
                  z += f.x[((shared ? 0 : c * d) + a) * d + k] * from_mean;
                }
                want -= z * z / 2;
              }
              CHECK(n > 5 && row == 5 ? std::isnan(out[i]) : std::abs(out[i] - want) < 1e-12L * (1 + std::abs(want)));
            }
            CHECK(missing.rows() == (n > 5 ? std::vector<std::int64_t>{5} : std::vector<std::int64_t>{}));
          }
          RowFlags missing(n);
          const auto part = affine_part(t.view.x, {m.x.data(), b.x.data(), f.x.data(), classes}, missing);
          std::vector<double> out(n * classes);
          part_scores(*part, n, classes, missing, out.data());
          for (std::size_t i = 0; i < n * classes; ++i) {
            const std::size_t row = i / classes, c = i % classes;
            long double want = b.x[c];
            for (std::size_t k = 0; k < d; ++k)
              want += m.x[c * d + k] * (static_cast<long double>(t.x[row * d + k]) - f.x[k]);
            CHECK(n > 5 && row == 5 ? std::isnan(out[i]) : std::abs(out[i] - want) < 1e-12L * (1 + std::abs(want)));
          }
        }
      }
    }
  });
}

// The inverse of what is left of the covariance when a coordinate goes is a Schur complement of the inverse.
TEST(marginal_scores_are_those_of_the_columns_that_are_there) {
  with_every_isa([] {
    for (const std::size_t d : {1, 2, 5, 17, 33, 67}) {
      const std::size_t n = 40, classes = 3;
      Table t(n, d, classes), m(classes, d, 1), f(classes * d, d, 1), b(classes, 1, 1);
      std::vector<double> low(classes * d);
      for (std::size_t i = 0; i < classes * d; ++i) f.x[i * d + i % d] = 2.0 + std::abs(f.x[i * d + i % d]);
      for (std::size_t i = 0; i < n * d; ++i) t.x[i] = (i * 7 + i / d) % n < i / d ? kNan : t.x[i];
      std::vector<std::int64_t> rows(n);
      for (std::size_t i = 0; i < n; ++i) rows[i] = static_cast<std::int64_t>(n - 1 - i);
      for (const bool shared : {false, true}) {
        for (std::size_t c = 0; c < classes; ++c) {  // log p at the mean
          b.x[c] = -static_cast<double>(d) * kHalfLog2Pi;
          for (std::size_t k = 0; k < d; ++k) b.x[c] += std::log(f.x[((shared ? 0 : c * d) + k) * d + k]);
        }
        const Quadratic q{m.x.data(), low.data(), f.x.data(), shared, b.x.data(), classes};
        std::vector<double> out(n * classes);
        marginal_scores(t.view.x, rows.data(), n, q, out.data());
        for (std::size_t at = 0; at < n * classes; ++at) {
          const std::size_t row = n - 1 - at / classes, c = at % classes;
          const double* factor = f.x.data() + (shared ? 0 : c * d * d);
          std::vector<long double> p(d * d);
          for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = 0; j < d; ++j) {
              for (std::size_t k = std::max(i, j); k < d; ++k) {
                p[i * d + j] += static_cast<long double>(factor[k * d + i]) * factor[k * d + j];
              }
            }
          }
          long double want = 0;
          for (std::size_t k = 0; k < d; ++k) {
            if (!std::isnan(t.at(row, k))) continue;
            for (std::size_t i = 0; i < d; ++i) {
              if (i == k) continue;
              const long double by = p[i * d + k] / p[k * d + k];
              for (std::size_t j = 0; j < d; ++j) p[i * d + j] -= j == k ? 0 : by * p[k * d + j];
            }
            for (std::size_t j = 0; j < d; ++j) p[k * d + j] = p[j * d + k] = j == k ? 1 : 0;
          }
          std::vector<long double> e(d);
          for (std::size_t i = 0; i < d; ++i) e[i] = std::isnan(t.at(row, i)) ? 0 : t.at(row, i) - m.x[c * d + i];
          for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = 0; j < d; ++j) want -= e[i] * p[i * d + j] * e[j] / 2;
          }
          for (std::size_t k = 0; k < d; ++k) {  // the determinant, by elimination
            const long double pivot = p[k * d + k];
            want += std::log(pivot) / 2 - (std::isnan(t.at(row, k)) ? 0 : kHalfLog2Pi);
            for (std::size_t i = k + 1; i < d; ++i) {
              const long double by = p[i * d + k] / pivot;
              for (std::size_t j = k; j < d; ++j) p[i * d + j] -= by * p[k * d + j];
            }
          }
          CHECK(std::abs(out[at] - want) < 1e-10L * (1 + std::abs(want)));
        }
      }
    }
  });
}
