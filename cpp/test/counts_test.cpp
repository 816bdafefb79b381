#include "core/counts/counts.hpp"

#include <map>
#include <optional>

#include "test/check.hpp"
#include "test/random_table.hpp"

using namespace tb;
using tb::test::RandomTable;

namespace {

constexpr std::int64_t kLimit = 1 << 20;

template <class T>
void compare(RandomTable<T>& t, bool weighted, std::int64_t size) {
  const std::vector<std::int64_t> sizes(t.d, size);
  const CodeCounts got = counts(t.view(weighted), sizes.data(), kLimit);
  std::vector<double> flat(t.classes * got.total());
  got.write(t.classes, flat.data());
  std::size_t before = 0;
  for (std::size_t j = 0; j < t.d; ++j) {
    std::map<std::pair<std::size_t, std::int64_t>, double> want;
    std::int64_t most = size;
    t.each_row(weighted, [&](std::size_t i, std::size_t c, double w) {
      const auto code = static_cast<std::int64_t>(t.at(i, j));
      if (code < 0) return;
      want[{c, code}] += w;
      most = std::max(most, code + 1);
    });
    CHECK(got.size[j] == most);
    for (std::size_t c = 0; c < t.classes; ++c) {
      for (std::int64_t v = 0; v < most; ++v) {
        const auto it = want.find({c, v});
        CHECK_NEAR(flat[c * got.total() + before + static_cast<std::size_t>(v)], it == want.end() ? 0.0 : it->second,
                   1e-14);
      }
    }
    before += static_cast<std::size_t>(most);
  }
  CHECK(before == got.total());
}

template <class T>
void compare_all() {
  for (const bool rows : {true, false}) {
    for (const std::size_t d : {1, 3, 70}) {
      for (const std::size_t n : {0, 1, 5, 3'000}) {
        RandomTable<T> t(n, d, 3, rows);
        if (static_cast<T>(-1) < T{}) {
          for (std::size_t i = 0; i < n * d; i += 3) t.x[i] = static_cast<T>(-1);
          for (std::size_t i = 1; i < n * d; i += 997) t.x[i] = static_cast<T>(-7);
        }
        for (const std::int64_t size : {0, 20, 33}) {
          compare(t, false, size);
          compare(t, true, size);
        }
      }
    }
  }
}

}  // namespace

TEST(counts_i8) { compare_all<std::int8_t>(); }
TEST(counts_u8) { compare_all<std::uint8_t>(); }
TEST(counts_i32) { compare_all<std::int32_t>(); }
TEST(counts_i64) { compare_all<std::int64_t>(); }

// Many rows of few levels are counted two columns at a time, as long as they have no others.
template <class T>
void compare_pairs() {
  for (const std::size_t d : {2, 3, 8, 9, 30, 37, 64, 130, 600}) {
    RandomTable<T> t(9'000, d, 3, true);
    for (std::size_t i = 0; i < t.n; ++i) {
      for (std::size_t j = 0; j < d; ++j) t.at(i, j) = static_cast<T>(t.at(i, j) % static_cast<T>(1 + j % 5));
    }
    compare(t, false, 0);
    t.at(4'000, d - 1) = 11;  // more levels
    t.at(8'800, d / 2) = 70;
    compare(t, false, 0);
    if (static_cast<T>(-1) < T{}) {
      t.at(6'000, 0) = static_cast<T>(-1);
      t.at(7'000, d - 1) = static_cast<T>(-7);
      compare(t, false, 0);
    }
  }
}

TEST(counts_pairs_i8) { compare_pairs<std::int8_t>(); }
TEST(counts_pairs_u8) { compare_pairs<std::uint8_t>(); }
TEST(counts_pairs_i32) { compare_pairs<std::int32_t>(); }
TEST(counts_pairs_i64) { compare_pairs<std::int64_t>(); }

TEST(counts_pairs_within_the_limit) {
  for (const std::size_t d : {4, 5}) {
    const std::vector<std::int64_t> sizes(d, 0);
    for (const std::int32_t code : {4, 5, 7, 8, 9, -1}) {
      RandomTable<std::int32_t> t(9'000, d, 2, true);
      for (std::size_t i = 0; i < t.n * d; ++i) t.x[i] %= 5;
      t.at(8'000, d - 2) = code;
      t.y[8'000] = -1;                           // a row that does not count must be of codes as well
      for (const std::int64_t limit : {5, 8}) {  // of 2 to the 3 levels, which pairs have places for, or fewer
        CHECK(counts_of_codes(t.view(false), sizes.data(), limit).has_value() == (code >= 0 && code < limit));
      }
      if (code < 8) continue;
      t.at(8'500, d - 1) = code;
      t.y[8'500] = 0;
      std::optional<BadValue> bad;
      try {
        counts(t.view(false), sizes.data(), 8);
      } catch (const BadValue& b) {
        bad = b;
      }
      CHECK(bad && bad->kind == BadValue::code && bad->row == 8'500 && bad->col == d - 1);
    }
  }
}

TEST(counts_largest_codes) {
  for (const bool rows : {true, false}) {
    RandomTable<std::int8_t> s(50, 3, 2, rows);
    RandomTable<std::uint8_t> u(50, 3, 2, rows);
    for (std::size_t i = 9; i < 150; i += 10) {
      s.x[i] = 127;
      u.x[i] = 255;
    }
    compare(s, false, 0);
    compare(u, true, 0);
  }
}

TEST(counts_growing_beyond_private_tables) {
  for (const bool rows : {true, false}) {
    RandomTable<std::int64_t> t(20'000, 3, 40, rows);
    for (std::size_t i = 0; i < t.n; ++i) t.at(i, 1) = static_cast<std::int64_t>(i * i % 60'000);
    compare(t, false, 0);
  }
}

TEST(counts_limit) {
  for (const bool weighted : {false, true}) {
    RandomTable<std::int64_t> t(30'000, 11, 1, true);
    for (std::size_t i = 0; i < t.n; ++i) {
      t.y[i] = i == 3 ? -1 : 0;
      t.w[i] = i == 4 ? 0.0 : 1.0;
    }
    t.at(3, 0) = t.at(25'000, 10) = t.at(25'000, 9) = t.at(29'999, 0) = std::int64_t{1} << 60;
    if (weighted) t.at(4, 0) = t.at(3, 0);
    const std::vector<std::int64_t> sizes(t.d, 0);
    std::optional<BadValue> bad;
    try {
      counts(t.view(weighted), sizes.data(), kLimit);
    } catch (const BadValue& b) {
      bad = b;
    }
    CHECK(bad && bad->kind == BadValue::code && bad->row == 25'000 && bad->col == 9);
  }
}
