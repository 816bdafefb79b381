// Averaged dependence estimators under the sanitizers: scores and losses against loops over the formulas.
#include "core/networks/averaged_networks.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/networks/averaged_terms.hpp"
#include "test/check.hpp"

namespace {

using namespace tb;

// Random rows, a fifth of the cells missing, and their counts.
struct Sample {
  std::size_t n, d, K, order;
  std::vector<std::int64_t> size;
  std::vector<std::uint16_t> code;  // (d, n)
  std::vector<std::int32_t> y, column, rank;
  std::vector<std::int64_t> start{0};
  std::vector<double> single, class_weight, levels, concentration;
  std::vector<std::uint32_t> joint;

  // wide: levels of column 1, if not 0.
  Sample(std::size_t rows, std::size_t columns, std::size_t classes, std::size_t parents, std::int64_t wide = 0)
      : n(rows),
        d(columns),
        K(classes),
        order(parents),
        code(n * d),
        y(n),
        rank(d),
        class_weight(K, 0.0),
        concentration(order * d, 2.0) {
    std::mt19937 random(static_cast<unsigned>(rows + 7 * classes));
    for (std::size_t j = 0; j < d; ++j) {
      size.push_back(j == 1 && wide ? wide : 2 + static_cast<std::int64_t>(j % 3));
      levels.push_back(static_cast<double>(size[j]));
      rank[j] = static_cast<std::int32_t>(d - j);
      for (std::size_t r = 0; r < n; ++r) {
        code[j * n + r] = random() % 5 == 0 ? kNoCode<std::uint16_t>
                                            : static_cast<std::uint16_t>(random() % static_cast<unsigned>(size[j]));
      }
    }
    for (std::size_t r = 0; r < n; ++r)
      class_weight[static_cast<std::size_t>(y[r] = static_cast<std::int32_t>(random() % K))] += 1;
    for (std::size_t m = 2; m <= order + 1; ++m) {
      std::vector<std::int32_t> set(m);
      std::iota(set.begin(), set.end(), 0);
      do {
        column.insert(column.end(), set.begin(), set.end());
        start.push_back(static_cast<std::int64_t>(column.size()));
      } while (next_set(set, d));
    }
    count();
  }

  Tables tables() const { return Tables(d, size.data(), start.size() - 1, column.data(), start.data()); }

  void count() {
    const Tables t = tables();
    const auto V = static_cast<std::size_t>(std::accumulate(size.begin(), size.end(), std::int64_t{0}));
    single.assign(K * V, 0.0);
    joint.assign(K * t.cells(), 0);
    for (std::size_t r = 0; r < n; ++r) {
      const auto c = static_cast<std::size_t>(y[r]);
      std::size_t first = 0;
      for (std::size_t j = 0; j < d; first += static_cast<std::size_t>(size[j++])) {
        if (code[j * n + r] != kNoCode<std::uint16_t>) single[c * V + first + code[j * n + r]] += 1;
      }
      for (std::size_t i = 0; i < t.count; ++i) {
        std::size_t cell = 0;
        bool present = true;
        for (std::size_t q = 0; q < t.order(i); ++q) {
          const auto j = static_cast<std::size_t>(t.columns(i)[q]);
          present = present && code[j * n + r] != kNoCode<std::uint16_t>;
          cell = cell * static_cast<std::size_t>(size[j]) + code[j * n + r];
        }
        if (present) ++joint[c * t.cells() + t.offset[i] + cell];
      }
    }
  }

  AveragedCounts counts(bool backoff) const {
    AveragedCounts m{K,
                     order,
                     single.data(),
                     joint.data(),
                     true,
                     class_weight.data(),
                     levels.data(),
                     1.0,
                     backoff ? concentration.data() : nullptr,
                     rank.data(),
                     tables(),
                     {},
                     {}};
    m.check();
    return m;
  }
  PackedCodes packed() const { return {code.data(), 2, n}; }
  std::vector<std::uint16_t> row(std::size_t r) const {
    std::vector<std::uint16_t> out(d);
    for (std::size_t j = 0; j < d; ++j) out[j] = code[j * n + r];
    return out;
  }
};

// AODE of one row by the Laplace formula.
double slow(const Sample& s, std::size_t r, std::size_t c) {
  const auto level = [&](std::size_t i, std::size_t j) { return s.code[j * s.n + i]; };
  const auto has = [&](std::size_t i, std::size_t j) { return level(i, j) != kNoCode<std::uint16_t>; };
  const auto number = [&](auto&& which) {
    double sum = 0;
    for (std::size_t i = 0; i < s.n; ++i) sum += which(i);
    return sum;
  };
  const auto own = [&](std::size_t i) { return static_cast<std::size_t>(s.y[i]) == c; };
  double sum = 0, used = 0;
  for (std::size_t p = 0; p < s.d; ++p) {
    const auto at = [&](std::size_t i) { return has(i, p) && level(i, p) == level(r, p); };
    if (!has(r, p)) continue;
    const double seen = number([&](std::size_t i) { return has(i, p); });
    double term = (number([&](std::size_t i) { return own(i) && at(i); }) + 1) /
                  (seen + static_cast<double>(s.K) * s.levels[p]) / (s.class_weight[c] / static_cast<double>(s.n));
    for (std::size_t k = 0; k < s.d; ++k) {
      if (k == p || !has(r, k)) continue;
      term *= (number([&](std::size_t i) { return own(i) && at(i) && level(i, k) == level(r, k); }) + 1) /
              (number([&](std::size_t i) { return own(i) && at(i) && has(i, k); }) + s.levels[k]);
    }
    sum += term;
    used += 1;
  }
  return std::log(sum / used);
}

}  // namespace

TEST(averaged_scores_are_the_formula) {
  for (const std::size_t K : {1, 2, 3, 4, 7, 9}) {
    const Sample s(120, 5, K, 1);
    const std::vector<double> weight(s.d, 1.0);
    std::vector<double> out(s.n * K);
    averaged_scores(s.counts(false), s.packed(), weight.data(), 1.0, {}, out.data());
    for (std::size_t r = 0; r < s.n; ++r) {
      bool any = false;
      for (std::size_t j = 0; j < s.d; ++j) any = any || s.code[j * s.n + r] != kNoCode<std::uint16_t>;
      for (std::size_t c = 0; any && c < K; ++c) CHECK(std::abs(out[r * K + c] - slow(s, r, c)) < 1e-11);
    }
  }
}

TEST(averaged_scores_with_many_levels_are_the_formula) {
  const Sample s(90, 5, 3, 1, 300);
  AveragedCounts m = s.counts(false);
  m.compile();
  CHECK(!m.total.empty());
  const std::vector<double> weight(s.d, 1.0);
  for (std::size_t r = 0; r < s.n; ++r) {
    std::vector<double> out(s.K);
    averaged_scores(m, {s.row(r).data(), 2, 1}, weight.data(), 1.0, {}, out.data());
    for (std::size_t c = 0; c < s.K; ++c) CHECK(std::abs(out[c] - slow(s, r, c)) < 1e-11);
  }
}

// Tables of all levels or of those that are met, bundles or not, sums laid up or not: always the same bits, also where
// the product of two probabilities is below all doubles.
TEST(averaged_scores_do_not_depend_on_the_other_rows) {
  for (const std::int64_t wide : {0, 50, 400}) {
    for (const std::size_t order : {1, 2}) {
      const Sample s(900, 9, 3, order, wide);
      std::vector<double> weight(choose(s.d, order), 1.0);
      for (const bool even : {true, false}) {
        if (!even) weight[2] = 0.3;
        for (const bool backoff : {false, true}) {
          for (const double alpha : {1.0, 1e-200}) {
            AveragedCounts plain = s.counts(backoff);
            plain.alpha = alpha;
            AveragedCounts m = plain;
            m.compile();
            std::vector<double> all(s.n * s.K), again(s.n * s.K), one(s.K);
            averaged_scores(m, s.packed(), weight.data(), 1.0, {}, all.data());
            averaged_scores(plain, s.packed(), weight.data(), 1.0, {}, again.data());
            CHECK(all == again);
            for (std::size_t r = 0; r < s.n; r += 37) {
              averaged_scores(m, {s.row(r).data(), 2, 1}, weight.data(), 1.0, {}, one.data());
              for (std::size_t c = 0; c < s.K; ++c) {
                CHECK(std::isfinite(one[c]));
                CHECK(one[c] == all[r * s.K + c]);
              }
            }
          }
        }
      }
    }
  }
}

TEST(averaged_scores_of_higher_orders_are_those_of_single_rows) {
  for (const std::size_t order : {2, 3}) {
    const Sample s(700, 6, 3, order);
    const std::vector<double> weight(choose(s.d, order), 1.0);
    for (const bool backoff : {false, true}) {
      const AveragedCounts m = s.counts(backoff);
      std::vector<double> all(s.n * s.K), one(s.K);
      averaged_scores(m, s.packed(), weight.data(), 1.0, {}, all.data());
      for (std::size_t r = 0; r < s.n; r += 50) {
        averaged_scores(m, {s.row(r).data(), 2, 1}, weight.data(), 1.0, {}, one.data());
        for (std::size_t c = 0; c < s.K; ++c) CHECK(one[c] == all[r * s.K + c]);
      }
    }
  }
}

TEST(averaged_scores_are_the_same_when_compiled) {
  for (const std::size_t order : {1, 2, 3}) {
    const Sample s(40, 6, 3, order);
    const std::vector<double> weight(choose(s.d, order), 1.0);
    for (const bool backoff : {false, true}) {
      AveragedCounts m = s.counts(backoff);
      std::vector<double> plain(s.n * s.K), compiled(s.n * s.K);
      averaged_scores(m, s.packed(), weight.data(), 1.0, {}, plain.data());
      m.compile();
      CHECK(m.known.size() == weight.size() * order * s.d);
      averaged_scores(m, s.packed(), weight.data(), 1.0, {}, compiled.data());
      CHECK(plain == compiled);
    }
  }
}

TEST(averaged_terms_sum_to_the_scores_of_each_network) {
  for (const std::size_t order : {1, 2, 3}) {
    const Sample s(1100, 5, 9, order);  // more rows than a block, more classes than lanes
    for (const bool backoff : {false, true}) {
      const AveragedCounts m = s.counts(backoff);
      std::vector<std::int32_t> set(order);
      std::iota(set.begin(), set.end(), 0);
      std::size_t which = 0;
      do {
        std::vector<double> weight(choose(s.d, order), 0.0), scores(s.n * s.K), terms(s.n * s.d * s.K);
        weight[which++] = 1.0;
        averaged_scores(m, s.packed(), weight.data(), 0.0, {}, scores.data());
        averaged_terms(m, s.packed(), set.data(), terms.data());
        for (std::size_t r = 0; r < s.n; r += 13) {
          bool here = true;
          for (const std::int32_t j : set)
            here = here && s.code[static_cast<std::size_t>(j) * s.n + r] != kNoCode<std::uint16_t>;
          for (std::size_t c = 0; c < s.K; ++c) {
            double sum = 0.0;
            for (std::size_t k = 0; k < s.d; ++k) sum += terms[(r * s.d + k) * s.K + c];
            CHECK_NEAR(sum, here ? scores[r * s.K + c] : 0.0, 1e-11);
          }
        }
      } while (next_set(set, s.d));
    }
  }
}

TEST(averaged_scores_without_a_row_are_those_of_the_other_rows) {
  for (const std::size_t order : {1, 2}) {
    const Sample s(60, 4, 3, order);
    const std::vector<double> weight(choose(s.d, order), 1.0);
    for (const bool backoff : {false, true}) {
      const AveragedCounts m = s.counts(backoff);
      std::vector<double> own(s.n * s.K), other(s.n * s.K), one(s.K);
      averaged_scores(m, s.packed(), weight.data(), 2.0, {1.0, 1.0}, own.data());
      averaged_scores(m, s.packed(), weight.data(), 2.0, {0.0, 1.0}, other.data());
      for (std::size_t r = 0; r < s.n; r += 7) {
        Sample rest = s;
        std::vector<std::uint16_t> row(s.d);
        for (std::size_t j = 0; j < s.d; ++j) std::swap(row[j] = kNoCode<std::uint16_t>, rest.code[j * s.n + r]);
        const auto y = static_cast<std::size_t>(s.y[r]);
        rest.class_weight[y] -= 1;
        rest.count();
        averaged_scores(rest.counts(backoff), {row.data(), 2, 1}, weight.data(), 2.0, {}, one.data());
        for (std::size_t c = 0; c < s.K; ++c) CHECK_NEAR(one[c], (c == y ? own : other)[r * s.K + c], 1e-11);
      }
    }
  }
}

TEST(averaged_strengths_are_of_the_grid) {
  const Sample s(150, 5, 2, 3);
  const std::vector<double> grid = {0.5, 2, 8, 32};
  std::vector<double> out(3 * s.d, -1.0);
  averaged_concentrations(s.counts(true), {grid.data(), grid.size()}, out.data());
  for (const double a : out) CHECK(a == 0.5 || a == 2 || a == 8 || a == 32);
}

TEST(spode_losses_of_weights_add_up) {
  for (const std::size_t K : {2, 3, 9}) {
    const Sample s(150, 4, K, 1);
    for (const bool backoff : {false, true}) {
      const AveragedCounts m = s.counts(backoff);
      // Weights next to 1 take the other way through the code.
      std::vector<double> plain(s.d), near(s.d), w(s.n, 1.0 + 1e-13);
      spode_losses(m, s.packed(), s.y.data(), nullptr, plain.data());
      spode_losses(m, s.packed(), s.y.data(), w.data(), near.data());
      for (std::size_t p = 0; p < s.d; ++p) {
        CHECK(std::isfinite(plain[p]) && plain[p] > 0);
        CHECK_NEAR(plain[p], near[p], 1e-9);
      }
    }
  }
}
