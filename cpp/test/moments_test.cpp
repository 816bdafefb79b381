#include "core/moments/moments.hpp"

#include <limits>
#include <optional>

#include "core/counts/column_sums.hpp"
#include "test/check.hpp"
#include "test/random_table.hpp"

using namespace tb;
using tb::test::RandomTable;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

struct Answer {
  std::vector<double> n, a, low, b;
  explicit Answer(std::size_t cells) : n(cells), a(cells), low(cells), b(cells) {}
};

template <class T>
void compare(RandomTable<T>& t, bool weighted) {
  const std::size_t cells = t.classes * t.d;
  Answer got(cells), sum(cells), one(cells), want(cells), above(cells);
  moments(t.view(weighted), got.n.data(), got.a.data(), got.low.data(), got.b.data());
  sums(t.view(weighted), sum.n.data(), sum.a.data());
  binary_counts(t.view(weighted), 9.5, one.n.data(), one.a.data());
  const auto each = [&](auto&& f) {
    t.each_row(weighted, [&](std::size_t i, std::size_t c, double w) {
      for (std::size_t j = 0; j < t.d; ++j) {
        const auto x = static_cast<double>(t.at(i, j));
        if (x == x) f(c * t.d + j, x, w);
      }
    });
  };
  each([&](std::size_t at, double x, double w) {
    want.n[at] += w;
    want.a[at] += w * x;
    above.a[at] += x > 9.5 ? w : 0.0;
  });
  for (std::size_t at = 0; at < cells; ++at) {
    CHECK(sum.n[at] == want.n[at]);
    CHECK_NEAR(sum.a[at], want.a[at], 1e-14);
    CHECK(one.n[at] == want.n[at]);
    CHECK(one.a[at] == above.a[at]);
    if (want.n[at] > 0.0) want.a[at] /= want.n[at];
  }
  each([&](std::size_t at, double x, double w) { want.b[at] += w * (x - want.a[at]) * (x - want.a[at]); });
  for (std::size_t at = 0; at < cells; ++at) {
    CHECK(got.n[at] == want.n[at]);
    CHECK_NEAR(got.a[at], want.a[at], 1e-12);
    CHECK(got.a[at] + got.low[at] == got.a[at]);
    CHECK_NEAR(got.b[at], want.b[at], 1e-11);
  }
}

template <class T>
void compare_all(bool rows) {
  for (const std::size_t d : {1, 2, 3, 4, 5, 7, 8, 9, 17, 64, 100}) {
    for (const std::size_t n : {0, 1, 2, 33, 900}) {
      RandomTable<T> t(n, d, 4, rows);
      compare(t, false);
      compare(t, true);
    }
  }
  RandomTable<T> none(5, 0, 2, rows), large(20'000, 20, 3, rows), many(3'000, 5, 2'000, rows);
  compare(none, false);
  compare(large, true);
  compare(many, false);
}

std::optional<BadValue> bad(const Labelled& t, bool sum) {
  Answer a(t.classes * t.x.d);
  try {
    if (sum)
      sums(t, a.n.data(), a.a.data());
    else
      moments(t, a.n.data(), a.a.data(), a.low.data(), a.b.data());
  } catch (const BadValue& b) {
    return b;
  }
  return std::nullopt;
}

}  // namespace

TEST(moments_f64_rows) { compare_all<double>(true); }
TEST(moments_f64_columns) { compare_all<double>(false); }
TEST(moments_f32_rows) { compare_all<float>(true); }
TEST(moments_f32_columns) { compare_all<float>(false); }
TEST(moments_i8_rows) { compare_all<std::int8_t>(true); }
TEST(moments_i8_columns) { compare_all<std::int8_t>(false); }
TEST(moments_i64_columns) { compare_all<std::int64_t>(false); }

TEST(moments_missing) {
  for (const bool rows : {true, false}) {
    RandomTable<double> t(9'000, 21, 3, rows);
    for (std::size_t i = 0; i < t.n * t.d; i += 5) t.x[i] = missing;
    for (std::size_t i = 0; i < t.n; ++i) t.at(i, 4) = missing;
    compare(t, false);
    compare(t, true);
  }
}

TEST(moments_outlier_as_shift) {
  RandomTable<double> t(9'000, 9, 2, true);
  for (std::size_t j = 0; j < t.d; ++j) t.at(0, j) = t.at(1, j) = t.at(2, j) = 1e9;
  compare(t, false);
}

// Chunk by chunk, rows left out, outliers first: the mean keeps the digits that it has about the offset.
TEST(moments_far_from_zero) {
  constexpr double offset = 1e10, tick = 0x1p-19;  // the last digit of a double there
  for (const bool rows : {true, false}) {
    for (const bool missing_values : {true, false}) {
      RandomTable<double> t(30'000, 9, 3, rows);
      for (std::size_t i = 0; i < t.n * t.d; ++i) t.x[i] = offset + tick * static_cast<double>(i * i % 4'000'037);
      for (std::size_t i = 0; missing_values && i < t.n * t.d; i += 5) t.x[i] = missing;
      for (std::size_t j = 0; j < t.d; ++j) t.at(0, j) = t.at(1, j) = t.at(2, j) = offset + 0x1p10;
      Answer got(t.classes * t.d);
      moments(t.view(true), got.n.data(), got.a.data(), got.low.data(), got.b.data());
      std::vector<double> n(got.n.size()), ticks(got.n.size());  // whole numbers
      t.each_row(true, [&](std::size_t i, std::size_t c, double w) {
        for (std::size_t j = 0; j < t.d; ++j) {
          if (t.at(i, j) != t.at(i, j)) continue;
          n[c * t.d + j] += w;
          ticks[c * t.d + j] += w * ((t.at(i, j) - offset) / tick);
        }
      });
      for (std::size_t at = 0; at < n.size(); ++at) {
        CHECK(got.a[at] + got.low[at] == got.a[at]);
        CHECK_NEAR((got.a[at] - offset) + got.low[at], ticks[at] / n[at] * tick, 1e-12);
      }
    }
  }
}

TEST(moments_many_classes) {
  RandomTable<double> t(40'000, 17, 600, true);
  for (std::size_t i = 0; i < t.n; i += 2) t.y[i] = 5;
  t.at(1, 3) = t.at(3, 3) = 1e6;
  compare(t, false);
  for (std::size_t i = 0; i < t.n * t.d; i += 7) t.x[i] = missing;
  compare(t, true);
}

TEST(first_bad_value) {
  RandomTable<double> t(60'000, 9, 2, true);
  for (std::size_t i = 0; i < t.n; ++i) {
    t.y[i] = 0;
    t.w[i] = 1.0;
  }
  t.at(50'000, 8) = t.at(50'000, 3) = t.at(59'999, 0) = t.at(7, 1) = t.at(8, 1) = infinite;
  t.at(40'000, 2) = -1.0;
  t.y[7] = -1;
  t.w[8] = 0.0;
  const auto m = bad(t.view(true), false), s = bad(t.view(true), true);
  CHECK(m && m->kind == BadValue::infinite && m->row == 50'000 && m->col == 3);
  CHECK(s && s->kind == BadValue::negative && s->row == 40'000 && s->col == 2);
}
