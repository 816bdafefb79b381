#include "core/counts/joint.hpp"

#include <random>

#include "test/check.hpp"
#include "test/random_table.hpp"

using namespace tb;

namespace {

// Every set of `order` out of d columns, named one after another.
struct Sets {
  std::vector<std::int32_t> flat;
  std::vector<std::int64_t> start{0};

  void add(const std::vector<std::int32_t>& set) {
    flat.insert(flat.end(), set.begin(), set.end());
    start.push_back(static_cast<std::int64_t>(flat.size()));
  }
  void add_all(std::size_t d, std::size_t order, std::vector<std::int32_t> so_far = {}) {
    if (so_far.size() == order) return add(so_far);
    for (std::int32_t j = so_far.empty() ? 0 : so_far.back() + 1; j < static_cast<std::int32_t>(d); ++j) {
      so_far.push_back(j);
      add_all(d, order, so_far);
      so_far.pop_back();
    }
  }
  Tables of(const std::vector<std::int64_t>& size) const {
    return Tables(size.size(), size.data(), start.size() - 1, flat.data(), start.data());
  }
};

template <class T>
struct RandomCodes {
  std::vector<T> code;
  std::vector<std::int32_t> y;
  std::vector<double> w;
  std::size_t n, classes;

  // Some codes are beyond the levels: one in `missing`, none if that is 0.
  RandomCodes(std::size_t rows, const std::vector<std::int64_t>& size, std::size_t k, unsigned missing)
      : code(size.size() * rows), y(rows), w(rows), n(rows), classes(k) {
    std::mt19937 gen(static_cast<unsigned>(rows + k));
    for (std::size_t j = 0; j < size.size(); ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        const bool none = size[j] == 0 || (missing && gen() % missing == 0);
        code[j * n + i] = none ? (gen() % 2 ? kNoCode<T> : static_cast<T>(size[j]))
                               : static_cast<T>(gen() % static_cast<std::uint64_t>(size[j]));
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = static_cast<std::int32_t>(gen() % (k + 1)) - 1;
      w[i] = static_cast<double>(gen() % 5) / 7.0;
    }
  }
  LabelledCodes view(bool weighted) const {
    return {{code.data(), sizeof(T), n}, y.data(), weighted ? w.data() : nullptr, classes};
  }

  // Adds row by row.
  template <class N>
  void count(const Tables& t, bool weighted, std::vector<N>& out) const {
    for (std::size_t i = 0; i < n; ++i) {
      if (y[i] < 0) continue;
      for (std::size_t k = 0; k < t.count; ++k) {
        std::size_t cell = 0;
        bool present = true;
        for (std::size_t o = 0; o < t.order(k); ++o) {
          const std::int32_t j = t.columns(k)[o];
          const std::int64_t v = code[static_cast<std::size_t>(j) * n + i];
          present = present && v < t.size[j];
          cell = cell * static_cast<std::size_t>(t.size[j]) + static_cast<std::size_t>(v);
        }
        if (present)
          out[static_cast<std::size_t>(y[i]) * t.cells() + t.offset[k] + cell] +=
              weighted ? static_cast<N>(w[i]) : N{1};
      }
    }
  }
};

template <class N, class T>
void compare(const RandomCodes<T>& rows, const Tables& t, bool weighted) {
  std::vector<N> got(rows.classes * t.cells()), want;
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = static_cast<N>(i % 3);  // counts are added to what is there
  want = got;
  rows.count(t, weighted, want);
  count_tables(rows.view(weighted), t, got.data());
  CHECK(got == want);
}

template <class T>
void compare_all(std::size_t n, const std::vector<std::int64_t>& size, const Sets& sets, std::size_t classes,
                 unsigned missing) {
  const Tables t = sets.of(size);
  const RandomCodes<T> rows(n, size, classes, missing);
  compare<std::uint32_t>(rows, t, false);
  compare<double>(rows, t, false);
  compare<double>(rows, t, true);
}

Sets sets_up_to(std::size_t d, std::size_t order) {
  Sets sets;
  for (std::size_t o = 0; o <= order; ++o) sets.add_all(d, o);
  return sets;
}

template <class T>
void compare_packed() {
  const std::vector<std::int64_t> few{5, 0, 20, 19, 1, 30, 18};
  for (const bool by_rows : {true, false}) {
    for (const std::size_t d : {1, 7, 33}) {
      for (const std::size_t n : {0, 1, 63, 64, 200, 9'000}) {
        for (const std::int64_t extra : {0, 300, 70'000}) {
          tb::test::RandomTable<T> t(n, d, 1, by_rows);
          if (static_cast<T>(-1) < T{})
            for (std::size_t i = 0; i < n * d; i += 11) t.x[i] = static_cast<T>(i % 22 ? -1 : -2);
          std::vector<std::int64_t> size(d);
          for (std::size_t j = 0; j < d; ++j) size[j] = few[j % few.size()];
          size[0] += extra;
          const std::size_t bytes = code_bytes(static_cast<std::uint64_t>(size[0])), first = n / 3, rows = n - first;
          for (const bool raw : {false, true}) {
            std::vector<std::uint8_t> out(d * rows * bytes);
            const auto unseen = std::make_unique<bool[]>(d);
            pack_codes(t.view(false).x, size.data(), raw, first, rows, bytes, out.data(), unseen.get());
            for (std::size_t j = 0; j < d; ++j) {
              bool any = false;
              for (std::size_t i = 0; i < rows; ++i) {
                const auto v = static_cast<std::int64_t>(t.at(first + i, j));
                std::uint32_t code = 0;
                __builtin_memcpy(&code, &out[(j * rows + i) * bytes], bytes);
                const bool inside = v >= 0 && v < size[j];
                any = any || (!inside && (raw || v != -1));
                CHECK(code == (inside ? static_cast<std::uint32_t>(v) : bytes == 4 ? ~0u : (1u << 8 * bytes) - 1));
              }
              CHECK(unseen[j] == any);
            }
          }
        }
      }
    }
  }
}

}  // namespace

TEST(tables_pack_i8) { compare_packed<std::int8_t>(); }
TEST(tables_pack_u8) { compare_packed<std::uint8_t>(); }
TEST(tables_pack_i32) { compare_packed<std::int32_t>(); }
TEST(tables_pack_i64) { compare_packed<std::int64_t>(); }

TEST(tables_count_rows) {
  const std::vector<std::int64_t> size{3, 1, 2, 5};
  for (const std::size_t n : {0, 1, 2, 511, 512, 513, 2'500, 20'000}) {
    for (const unsigned missing : {0u, 100u, 5u}) compare_all<std::uint8_t>(n, size, sets_up_to(4, 4), 3, missing);
  }
}

TEST(tables_count_triples) {  // so many that the pairs of all columns are counted for them
  const std::vector<std::int64_t> size{3, 1, 2, 5, 4, 2, 3};
  Sets sets;
  sets.add_all(7, 3);
  for (const unsigned missing : {0u, 2'000u, 5u}) compare_all<std::uint8_t>(6'000, size, sets, 2, missing);
}

TEST(tables_count_several_chunks) {
  const std::vector<std::int64_t> size{3, 2, 4};
  compare_all<std::uint8_t>(150'000, size, sets_up_to(3, 3), 2, 30'000);
}

TEST(tables_count_classes) {
  const std::vector<std::int64_t> size{3, 2, 0, 4};
  for (const std::size_t classes : {1, 30, 300, 5'000}) {
    for (const unsigned missing : {0u, 50u}) compare_all<std::uint8_t>(3'000, size, sets_up_to(4, 3), classes, missing);
  }
}

TEST(tables_count_levels) {
  const std::vector<std::int64_t> few{255, 2, 64, 3}, more{700, 2, 64, 3}, most{70'000, 2, 64, 3};
  Sets sets = sets_up_to(4, 2);
  sets.add({1, 2, 3});
  compare_all<std::uint8_t>(5'000, few, sets, 2, 40);
  compare_all<std::uint16_t>(5'000, more, sets, 2, 40);
  compare_all<std::uint32_t>(5'000, most, sets, 2, 40);
}

TEST(tables_bad_rows_add_nothing) {
  const std::vector<std::int64_t> size{2, 2};
  const Sets sets = sets_up_to(2, 2);
  const Tables t = sets.of(size);
  for (const bool label : {true, false}) {
    RandomCodes<std::uint8_t> rows(3'000, size, 2, 0);
    if (label)
      rows.y.back() = 2;
    else
      rows.w.back() = -1.0;
    std::vector<double> out(2 * t.cells());
    bool refused = false;
    try {
      count_tables(rows.view(!label), t, out.data());
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    CHECK(refused && out == std::vector<double>(out.size()));
  }
}

TEST(tables_move) {
  const std::vector<std::int64_t> old_size{3, 2, 4}, new_size{4, 2, 5}, names{3, 0, 3}, others{4, 1, 0, 2};
  const Sets sets = sets_up_to(3, 3);
  const Tables from = sets.of(old_size), to = sets.of(new_size);
  RandomCodes<std::uint8_t> rows(500, old_size, 3, 9);
  std::vector<double> counts(3 * from.cells()), want(3 * to.cells()), got(3 * to.cells());
  rows.count(from, true, counts);
  for (std::size_t i = 0; i < rows.n; ++i) {
    std::uint8_t& a = rows.code[i];
    std::uint8_t& c = rows.code[2 * rows.n + i];
    a = a < 3 ? static_cast<std::uint8_t>(names[a]) : 255;
    c = c < 4 ? static_cast<std::uint8_t>(others[c]) : 255;
    std::uint8_t& b = rows.code[rows.n + i];
    if (b >= 2) b = 255;
  }
  rows.count(to, true, want);
  const std::int64_t* map[] = {names.data(), nullptr, others.data()};
  move_tables(from, to, map, 3, counts.data(), got.data());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK_NEAR(got[i], want[i], 1e-13);
}

TEST(tables_information) {
  const std::vector<std::int64_t> size{2, 2};
  const Sets sets = sets_up_to(2, 2);  // none, {0}, {1}, {0, 1}: 1 + 2 + 2 + 4 cells
  const Tables t = sets.of(size);
  const std::vector<std::uint32_t> equal{8, 4, 4, 4, 4, 4, 0, 0, 4}, apart{8, 4, 4, 4, 4, 2, 2, 2, 2};
  double out[4], alone[2];
  pair_information(t, 1, equal.data(), out);
  CHECK(std::isnan(out[0]) && std::isnan(out[1]) && std::isnan(out[2]));
  CHECK_NEAR(out[3], std::log(2.0), 1e-15);
  pair_information(t, 1, apart.data(), out);
  CHECK(out[3] == 0.0);
  const double single[] = {4, 0, 2, 2, 0, 4, 2, 2};  // two classes: the first column tells them, the second does not
  class_information(2, size.data(), 2, single, alone);
  CHECK_NEAR(alone[0], std::log(2.0), 1e-15);
  CHECK(alone[1] == 0.0);
}
