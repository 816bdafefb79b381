// The sample by hashes on inputs that a sanitizer should see, with every instruction set; what it is, Python tests.
#include "core/encode/hashed_sample.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "core/runtime/dispatch.hpp"
#include "test/check.hpp"

using namespace tb;

namespace {

HashedSample sample_of(const std::vector<double>& x, std::size_t n, const std::vector<std::int32_t>& y, const double* w,
                       std::size_t most) {
  const std::size_t d = x.size() / n;
  std::vector<Column> column;
  for (std::size_t j = 0; j < d; ++j) {
    column.push_back({reinterpret_cast<const char*>(x.data() + j * n), sizeof(double), Dtype::f64});
  }
  const Columns view{n, d, column.data(), false};
  return hashed_sample(view, {y.data(), w}, 3, most);
}

}  // namespace

TEST(hashed_sample_is_the_same_for_every_instruction_set) {
  std::mt19937 g(1);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{513}, std::size_t{20011}}) {
    std::vector<double> x(3 * n), w(n);
    std::vector<std::int32_t> y(n);
    for (double& v : x) v = g() % 10 == 0 ? std::numeric_limits<double>::quiet_NaN() : normal(g);
    for (std::size_t i = n; i < 2 * n; ++i) x[i] = static_cast<double>(g() % 3);
    for (double& v : w) v = static_cast<double>(g() % 3);
    for (std::int32_t& v : y) v = static_cast<std::int32_t>(g() % 4) - 1;
    for (const double* weight : {static_cast<const double*>(nullptr), static_cast<const double*>(w.data())}) {
      limit_isa(Isa::base);
      const HashedSample base = sample_of(x, n, y, weight, 50);
      CHECK(base.row.size() <= 50 && base.row.size() == base.hash.size());
      for (const std::int64_t i : base.row) CHECK(y[static_cast<std::size_t>(i)] >= 0);
      limit_isa(Isa::avx512);
      const HashedSample best = sample_of(x, n, y, weight, 50);
      CHECK(best.row == base.row && best.hash == base.hash);
    }
  }
}

TEST(hashed_sample_of_equal_rows) {
  const std::vector<double> x(5000, 1.0);
  const HashedSample found = sample_of(x, 5000, std::vector<std::int32_t>(5000, 0), nullptr, 300);
  std::vector<std::int64_t> row = found.row;
  std::sort(row.begin(), row.end());
  CHECK(row.size() == 300 && std::adjacent_find(row.begin(), row.end()) == row.end());
}
