// Cuts and codes on inputs that a sanitizer should see: odd sizes, strides and addresses, every type, every path.
#include "core/encode/cut_points.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/math/radix_sort.hpp"
#include "test/check.hpp"

using namespace tb;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Table {  // in row order, at an address that is not aligned
  Table(std::size_t n, std::size_t d, const std::vector<double>& x) : bytes(1 + x.size() * sizeof(double)) {
    std::memcpy(bytes.data() + 1, x.data(), x.size() * sizeof(double));
    for (std::size_t j = 0; j < d; ++j) {
      const auto stride = static_cast<std::ptrdiff_t>(d * sizeof(double));
      column.push_back({bytes.data() + 1 + j * sizeof(double), stride, Dtype::f64});
    }
    view = {n, d, column.data(), true};
  }
  std::vector<char> bytes;
  std::vector<Column> column;
  Columns view;
};

std::vector<double> normals(std::size_t n, unsigned seed) {
  std::mt19937 g(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n);
  for (double& v : x) v = normal(g);
  return x;
}

void check_sorted(std::vector<double> x) {
  const Column column{reinterpret_cast<const char*>(x.data()), sizeof(double), Dtype::f64};
  const Columns view{x.size(), 1, &column, true};
  FirstInfinite bad;
  Sorted plain(x.size(), Tag::none), tagged(x.size(), Tag::row);
  CHECK(plain.sort(view, 0, {}, bad) && tagged.sort(view, 0, {}, bad));
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isnan(x[i])) order.push_back(static_cast<std::uint32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] < x[b]; });
  CHECK(plain.count == order.size() && tagged.count == order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    CHECK(value_of(plain.key[i]) == x[order[i]]);
    CHECK(value_of(tagged.key[i]) == x[order[i]] && tagged.tag[i] == order[i]);
  }
}

}  // namespace

TEST(sorted_any_values) {
  check_sorted({});
  check_sorted({3.0});
  check_sorted({2.0, kNaN, -0.0, 0.0, -1e308, 1e308, 5e-324, -5e-324, 2.0});
  check_sorted(normals(5000, 1));
  std::vector<double> cluster = normals(5000, 2);  // the leading digits tell nothing apart: all digits are needed
  for (double& v : cluster) v = 1e9 + v * 1e-6;
  cluster[17] = 1e300;
  check_sorted(cluster);
  std::reverse(cluster.begin(), cluster.end());
  check_sorted(cluster);
}

TEST(between_neighbours) {
  const double pairs[][2] = {
      {1, std::nextafter(1, 2)}, {1e308, 1.7e308}, {-1.7e308, 1.7e308}, {0, 5e-324}, {-5e-324, 0}, {1.9, 3.0}};
  for (const auto& [a, b] : pairs) CHECK(a < between(a, b) && between(a, b) <= b);
  CHECK(between(1.9, 3.0) == 2.45);
}

TEST(cuts_of_a_step) {
  for (const std::size_t n : {2, 3, 31, 1023, 1025, 4100}) {
    const std::vector<double> flat = normals(n * 11, 3);
    Table t(n, 11, flat);
    std::vector<std::int32_t> y(n);
    std::vector<double> w(n, 0.5);
    for (std::size_t i = 0; i < n; ++i) y[i] = flat[i * 11 + 10] >= 0;  // the last column decides
    w[0] = 0;
    const Cuts mdl = cuts_mdl(t.view, {y.data(), nullptr}, 2), weighted = cuts_mdl(t.view, {y.data(), w.data()}, 2);
    CHECK(mdl.size.size() == 11 && weighted.size.size() == 11);
    if (n > 30) CHECK(mdl.size[10] == 1 && std::fabs(mdl.cut.back()) < 0.5);
    for (const Cuts& c : {mdl, cuts_width(t.view, {}, 5), cuts_frequency(t.view, {y.data(), w.data()}, 5)}) {
      std::vector<std::vector<std::int8_t>> code(11, std::vector<std::int8_t>(n));
      std::vector<void*> out;
      for (auto& column : code) out.push_back(column.data());
      digitize(t.view, {}, c.size.data(), c.cut.data(), out.data());
      std::size_t start = 0;
      for (std::size_t j = 0; j < 11; start += static_cast<std::size_t>(c.size[j++])) {
        for (std::size_t i = 0; i < n; ++i) {
          int expected = 0;
          const double* cut = c.cut.data() + start;
          for (std::int64_t k = 0; k < c.size[j]; ++k) expected += cut[k] <= flat[i * 11 + j];
          CHECK(code[j][i] == expected);
        }
      }
    }
  }
}

TEST(codes_of_many_cuts) {
  for (const std::size_t m : {0, 1, 48, 49, 127, 128, 32768}) {
    std::vector<double> cut = normals(m, 4);
    std::sort(cut.begin(), cut.end());
    std::vector<double> x = normals(301, 5);
    x.insert(x.end(), cut.begin(), cut.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(m, 100)));
    x.push_back(kNaN);
    Table t(x.size(), 1, x);
    const auto size = static_cast<std::int64_t>(m);
    std::vector<char> code(x.size() * code_size(m));
    void* out = code.data();
    digitize(t.view, {}, &size, cut.data(), &out);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto expected = std::isnan(x[i]) ? -1 : std::upper_bound(cut.begin(), cut.end(), x[i]) - cut.begin();
      std::int32_t got = 0;
      if (code_size(m) == 1) got = static_cast<std::int8_t>(code[i]);
      if (code_size(m) == 2) {
        std::int16_t v;
        std::memcpy(&v, &code[2 * i], 2);
        got = v;
      }
      if (code_size(m) == 4) std::memcpy(&got, &code[4 * i], 4);
      CHECK(got == expected);
    }
  }
}

TEST(cuts_name_the_first_infinity) {
  std::vector<double> x = normals(9000 * 5, 6);
  x[7000 * 5 + 3] = -kInfinity;
  x[7000 * 5 + 4] = kInfinity;
  x[8000 * 5] = kInfinity;
  Table t(9000, 5, x);
  const std::vector<std::int32_t> y(9000, 0);
  const std::function<void()> calls[] = {[&] { cuts_width(t.view, {}, 3); }, [&] { cuts_frequency(t.view, {}, 3); },
                                         [&] { cuts_mdl(t.view, {y.data(), nullptr}, 1); }};
  for (const auto& call : calls) {
    bool thrown = false;
    try {
      call();
    } catch (const BadValue& e) {
      thrown = e.kind == BadValue::infinite && e.row == 7000 && e.col == 3 && e.value == -kInfinity;
    }
    CHECK(thrown);
  }
}
