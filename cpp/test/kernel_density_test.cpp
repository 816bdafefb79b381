// Kernel densities under the sanitizers: the cells and the truncated sums against the sum over all values.
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "core/density/kernel_bandwidth.hpp"
#include "core/density/kernel_density.hpp"
#include "core/rowpath/kernel_row.hpp"
#include "test/check.hpp"

namespace {

using namespace tb;

constexpr double kInf = std::numeric_limits<double>::infinity();

KernelView view(const KernelStatistics& t) {
  return {t.start.data(), t.value.data(), t.weight.data(), t.start.size() - 1};
}

Column column(const std::vector<double>& x) { return {reinterpret_cast<const char*>(x.data()), 8, Dtype::f64}; }

KernelStatistics statistics_of(const std::vector<double>& x, const std::vector<std::int32_t>& y, const double* w,
                               std::size_t K) {
  const Column col = column(x);
  return kernel_statistics({x.size(), 1, &col, false}, {y.data(), w}, K);
}

KernelStatistics statistics_of(const std::vector<double>& x) {
  return statistics_of(x, std::vector<std::int32_t>(x.size()), nullptr, 1);
}

std::vector<double> log_density(const std::vector<double>& x, const KernelStatistics& t, double h, bool cells) {
  const KernelTables tables = kernel_tables(view(t), &h, 1, cells);
  const Column col = column(x);
  const KernelPart part({x.size(), 1, &col, false}, view(t),
                        {tables.entry.data(), tables.cell_start.data(), tables.edge.data(), tables.cell.data()}, 1);
  std::vector<double> out(x.size());
  for (std::size_t r0 = 0; r0 < x.size(); r0 += kRows) {
    std::array<double, kRows> acc{};
    const std::size_t rows = std::min(kRows, x.size() - r0);
    part.add(r0, rows, acc.data());
    std::copy_n(acc.begin(), rows, out.begin() + static_cast<std::ptrdiff_t>(r0));
  }
  return out;
}

double slow(double x, const KernelStatistics& t, double h) {
  long double top = -kInf, sum = 0, total = 0;
  const auto exponent = [&](double v) {
    const long double u = (static_cast<long double>(x) - v) / h;
    return -u * u / 2;
  };
  for (const double v : t.value) top = std::max(top, exponent(v));
  for (std::size_t i = 0; i < t.value.size(); ++i) {
    sum += t.weight[i] * std::exp(exponent(t.value[i]) - top);
    total += t.weight[i];
  }
  return static_cast<double>(top + std::log(sum / total / h) - std::log(2 * 3.14159265358979323846264L) / 2);
}

void compare(const std::vector<double>& v, double h) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> x = {v[0], v[0] - 3 * h, v[0] + 1e6 * h, v.back(), 0.0};
  for (int i = 0; i < 100; ++i) x.push_back(v[random() % v.size()] + normal(random) * h * (i % 3 == 0 ? 30 : 1));
  for (double& q : x) q = std::clamp(q, -DBL_MAX, DBL_MAX);
  const KernelStatistics t = statistics_of(v);
  for (const bool cells : {true, false}) {
    const std::vector<double> got = log_density(x, t, h, cells);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = slow(x[i], t, h);
      CHECK(std::fabs(got[i] - want) <= 1e-8 + 2e-15 * std::fabs(want));
    }
  }
}

}  // namespace

TEST(kernel_tally_is_a_multiset) {
  const double nan = std::nan("");
  const std::vector<double> x = {2, -0.0, nan, 0, 2, kInf, 2, 1};
  const std::vector<std::int32_t> y = {0, 1, 0, 1, 0, -1, 1, 0};
  const KernelStatistics t = statistics_of(x, y, nullptr, 2);
  CHECK((t.start == std::vector<std::int64_t>{0, 2, 4}));
  CHECK((t.value == std::vector<double>{1, 2, 0, 2}));
  CHECK((t.weight == std::vector<double>{1, 2, 2, 1}));
  const std::vector<double> w = {0.5, 1, 1, 0, 0.25, 1, 1, 0};
  const KernelStatistics u = statistics_of(x, y, w.data(), 2);
  CHECK((u.value == std::vector<double>{2, 0, 2}));
  CHECK((u.weight == std::vector<double>{0.75, 1, 1}));
}

TEST(kernel_combine_adds_and_takes_away) {
  const KernelStatistics a = statistics_of({1, 2, 2, 5}), b = statistics_of({2, 5, 7}),
                         both = kernel_combine(view(a), view(b), 1);
  CHECK((both.value == std::vector<double>{1, 2, 5, 7}));
  CHECK((both.weight == std::vector<double>{1, 3, 2, 1}));
  const KernelStatistics back = kernel_combine(view(both), view(b), -1);
  CHECK(back.value == a.value && back.weight == a.weight && back.start == a.start);
  bool refused = false;
  try {
    kernel_combine(view(a), view(b), -1);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

TEST(kernel_bandwidth_rules) {
  const KernelStatistics t = statistics_of({1, 2, 4, 8, 16, 32});
  CHECK_NEAR(bandwidth(view(t)[0], Rule::silverman), 0.9 * 11.5 / 1.34 * std::pow(6, -0.2), 1e-14);
  CHECK_NEAR(bandwidth(view(t)[0], Rule::john_langley), 31 / std::sqrt(6), 1e-14);
  CHECK(bandwidth(view(statistics_of({3, 3, 3}))[0], Rule::scott) == 0);
}

TEST(kernel_density_is_the_sum_of_all_bumps) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1, 2, 32, 33, 34, 400}) {
    std::vector<double> v(n), spread(n);
    for (double& x : v) x = normal(random);
    for (std::size_t i = 0; i < n; ++i) spread[i] = v[i] * 1e-6 + 1000.0 * static_cast<double>(i % 3);
    for (const double h : {1e-12, 1e-3, 0.1, 1.0, 1e9}) {
      compare(v, h);
      compare(spread, h);
    }
    v.push_back(1e9);
    v.push_back(-1e300);
    compare(v, 0.3);
  }
  compare({-1.79e308, 1.79e308}, 1.7e308);
}

TEST(kernel_cells_one_by_one_are_those_of_all) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {20, 300, 4000}) {
    std::vector<double> v(n);
    for (double& x : v) x = std::exp(normal(random));
    const KernelStatistics t = statistics_of(v);
    double entry[kEntry], one[kCell];
    kernel_entry(view(t)[0], bandwidth(view(t)[0], Rule::silverman), entry);
    const KernelCells all = kernel_cells(view(t)[0], entry);
    CHECK(all.edge.size() < std::max<std::size_t>(n, 1));
    for (int i = 0; i < 200; ++i) {
      const double x = 3 * normal(random);
      const bool found = kernel_cell(view(t)[0], entry, x, one);
      const auto after = std::upper_bound(all.edge.begin(), all.edge.end(), x) - all.edge.begin();
      const double* there = after > 0 ? all.cell.data() + (after - 1) * kCell : nullptr;
      CHECK(found == (there && !std::isnan(there[0])));
      CHECK(!found || std::equal(one, one + kCell, there));
    }
  }
}

TEST(kernel_rows_are_those_of_a_table) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> v(700);
  std::vector<std::int32_t> y(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = normal(random), y[i] = static_cast<std::int32_t>(i % 2);
  const KernelStatistics all = statistics_of(v, y, nullptr, 2);
  KernelRow row(2, 1, view(all), Rule::silverman);
  for (std::size_t i = 0; i < 400; ++i) {
    row.numbers[0] = v[i];
    CHECK(row.gives(i % 2, 1.0));
    row.forget(i % 2, 1.0);
    CHECK(!row.gives(i % 2, 1.0));
    alignas(64) double acc[2 * kRows] = {};
    CHECK(row.add(acc));
    CHECK(std::isfinite(acc[0]) && std::isfinite(acc[kRows]));
  }
  const KernelStatistics left = statistics_of({v.begin() + 400, v.end()}, {y.begin() + 400, y.end()}, nullptr, 2);
  CHECK(row.statistics().value == left.value && row.statistics().weight == left.weight);
  row.numbers[0] = kInf;
  CHECK(!row.takes(0, 1.0));
}

TEST(kernel_density_refuses_the_first_infinity) {
  std::vector<double> x(200, 1.0);
  x[150] = -kInf;
  x[70] = kInf;
  std::size_t row = 0;
  try {
    log_density(x, statistics_of({1, 2}), 1.0, true);
  } catch (const BadValue& bad) {
    row = bad.row;
  }
  CHECK(row == 70);
}

TEST(kernel_density_beyond_the_range_of_doubles) {
  const std::vector<double> x = {1e300}, v = {1, 2, 3, 4};
  const std::vector<std::int32_t> y = {0, 0, 1, 1};
  const KernelStatistics t = statistics_of(v, y, nullptr, 2);
  const double h[] = {1.0, 0.5};
  const KernelTables tables = kernel_tables(view(t), h, 2, true);
  const Column col = column(x);
  const KernelPart part({1, 1, &col, false}, view(t),
                        {tables.entry.data(), tables.cell_start.data(), tables.edge.data(), tables.cell.data()}, 2);
  long double acc[2] = {0, 0};
  part.add_wide(0, 2, acc);
  CHECK(std::isfinite(acc[0]) && std::isfinite(acc[1]) && acc[0] > acc[1]);
}
