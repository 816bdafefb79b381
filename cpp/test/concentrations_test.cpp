// The search for a concentration against one logarithm after the other.
#include "core/networks/concentrations.hpp"

#include <random>

#include "test/check.hpp"

using namespace tb;

namespace {

struct Row {
  double weight, above, below, prior;
};

ConcentrationSearch::Best slow(const std::vector<Row>& rows, const std::vector<double>& grid, double otherwise) {
  ConcentrationSearch::Best out{otherwise, -INFINITY};
  for (const double a : grid) {
    double sum = 0;
    for (const Row& r : rows)
      sum += r.weight * std::log(r.below + a > 0 ? (r.above + a * r.prior) / (r.below + a) : r.prior);
    if (!rows.empty() && sum > out.sum) out = {a, sum};
  }
  return out;
}

std::vector<Row> some_rows(std::size_t n, bool weighted, double scale) {
  std::mt19937 random(static_cast<unsigned>(n) + 7);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const double below = scale * static_cast<double>(random() % 40);
    const double above = below * static_cast<double>(random() % 5) / 5;
    rows.push_back({weighted ? static_cast<double>(random() % 4) * 0.5 : 1.0, above, below,
                    static_cast<double>(1 + random() % 100) / 100});
  }
  return rows;
}

}  // namespace

TEST(strengths_are_the_best_of_any_grid) {
  const std::vector<std::vector<double>> grids{
      {0.5, 2, 8, 32}, {1e-6, 1e6}, {3}, {0.0, 1.0}, {1e-300, 1e-3, 1.0, 1e12}};
  for (const auto& grid : grids) {
    ConcentrationSearch search({grid.data(), grid.size()});
    for (const std::size_t n : {1, 2, 31, 511, 512, 513, 2000}) {  // again with the same search
      for (const double scale : {1.0, 0.01, 1e9, 1e30}) {
        for (const bool weighted : {false, true}) {
          const std::vector<Row> rows = some_rows(n, weighted, scale);
          search.begin();
          for (const Row& r : rows) search.add(r.weight, r.above, r.below, r.prior);
          const auto want = slow(rows, grid, -1), got = search.best(-1);
          CHECK(got.concentration == want.concentration);
          CHECK(std::abs(got.sum - want.sum) <= 1e-12 * (std::abs(want.sum) + static_cast<double>(n)) ||
                got.sum == want.sum);
        }
      }
    }
  }
}

TEST(strengths_of_no_rows_or_impossible_ones) {
  const std::vector<double> grid{0.5, 2, 8};
  ConcentrationSearch search({grid.data(), grid.size()});
  CHECK(search.best(8).concentration == 8);
  search.add(1.0, 0.0, 3.0, 0.0);  // a value that no other row has, under a prior that knows no other
  search.add(1.0, 2.0, 3.0, 0.5);
  CHECK(search.best(8).concentration == 8);
  search.begin();
  search.add(1.0, 3.0, 3.0, 0.5);
  CHECK(search.best(8).concentration == 0.5);
}

TEST(strengths_of_priors_next_to_nothing) {
  const std::vector<double> grid{1e-6, 1.0, 1e6};
  for (const double prior : {1e-59, 1e-61, 1e-300}) {
    const std::vector<Row> rows(600, {1.0, 0.0, 4e9, prior});
    ConcentrationSearch search({grid.data(), grid.size()});
    for (const Row& r : rows) search.add(r.weight, r.above, r.below, r.prior);
    const auto want = slow(rows, grid, -1), got = search.best(-1);
    CHECK(got.concentration == want.concentration);
    CHECK_NEAR(got.sum, want.sum, 1e-12);
  }
}
