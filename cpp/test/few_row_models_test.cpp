// Few rows of a matrix as packed codes: every size of code, missing values, values without a level, infinities.
#include "core/scoring/few_row_models.hpp"

#include <limits>
#include <random>
#include <vector>

#include "test/check.hpp"
#include "test/random_table.hpp"

using namespace tb;

namespace {

template <class T>
void check_cut(std::size_t n, std::int64_t cuts, bool rows) {
  test::RandomTable<T> t(n, 3, 2, rows);
  MatrixCodes codes{{cuts + 1, 3, 1}, true, {cuts, 2, 0}, {}};
  for (std::int64_t i = 0; i < cuts; ++i) codes.at.push_back(static_cast<double>(i) * 0.5);
  codes.at.insert(codes.at.end(), {4.0, 15.0});
  const std::size_t bytes = codes.bytes();
  CHECK(bytes == code_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(cuts + 1, 3))));
  std::vector<char> out(n * 3 * bytes);
  const Columns x = t.view(false).x;
  CHECK(codes.read(x, out.data()));
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t at = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      std::size_t want = 0;
      for (std::int64_t c = 0; c < codes.cuts[j]; ++c) want += codes.at[at + static_cast<std::size_t>(c)] <= t.at(i, j);
      at += static_cast<std::size_t>(codes.cuts[j]);
      const char* p = out.data() + (j * n + i) * bytes;
      const std::size_t got = bytes == 1   ? *reinterpret_cast<const std::uint8_t*>(p)
                              : bytes == 2 ? *reinterpret_cast<const std::uint16_t*>(p)
                                           : *reinterpret_cast<const std::uint32_t*>(p);
      CHECK(got == want);
    }
  }
}

}  // namespace

TEST(few_rows_are_cut_as_all_rows_are) {
  for (const bool rows : {true, false}) {
    for (const std::size_t n : {1u, 5u, 130u}) {
      for (const std::int64_t cuts : {0, 3, 127, 254, 255, 40000, 70000}) {
        check_cut<double>(n, cuts, rows);
        check_cut<float>(n, cuts, rows);
        check_cut<std::int32_t>(n, cuts, rows);
      }
    }
  }
}

TEST(few_rows_with_gaps_and_infinities) {
  test::RandomTable<double> t(9, 2, 2, true);
  const MatrixCodes codes{{3, 3}, true, {2, 2}, {4.0, 9.0, 4.0, 9.0}};
  std::uint8_t out[18];
  t.at(4, 1) = std::numeric_limits<double>::quiet_NaN();
  CHECK(codes.read(t.view(false).x, out) && out[9 + 4] == 0xFF && out[4] != 0xFF);
  t.at(5, 0) = -std::numeric_limits<double>::infinity();
  bool refused = false;
  try {
    codes.read(t.view(false).x, out);
  } catch (const BadValue& bad) {
    refused = bad.row == 5 && bad.col == 0;
  }
  CHECK(refused);
}

TEST(few_rows_of_whole_numbers) {
  test::RandomTable<std::int32_t> t(7, 2, 2, false);
  const MatrixCodes codes{{20, 20}, false, {}, {}};
  std::uint8_t out[14];
  CHECK(codes.read(t.view(false).x, out) && out[7 + 3] == t.at(3, 1));
  for (const std::int32_t strange : {-1, 20, 1 << 30}) {
    t.at(3, 1) = strange;
    CHECK(!codes.read(t.view(false).x, out));
  }
  const test::RandomTable<double> floats(7, 2, 2, false);
  CHECK(!codes.read(floats.view(false).x, out));
}

TEST(few_rows_are_scored_by_their_codes) {
  test::RandomTable<double> t(5, 2, 2, true);
  const auto rows = coded_rows({{3, 3}, true, {2, 2}, {4.0, 9.0, 4.0, 9.0}}, 2, [](const Packed& p, double* out) {
    for (std::size_t i = 0; i < p.n; ++i) {
      const auto* code = static_cast<const std::uint8_t*>(p.code);
      out[i * 2] = -code[i], out[i * 2 + 1] = -code[p.n + i];
    }
  });
  double acc[2 * kRows] = {};
  CHECK(rows->score(t.view(false).x, [&](std::unique_ptr<Part> part) { part->add(0, 5, acc); }));
  const auto code = [](double x) { return (x >= 4) + (x >= 9); };
  for (std::size_t i = 0; i < 5; ++i) CHECK(acc[i] == -code(t.at(i, 0)) && acc[kRows + i] == -code(t.at(i, 1)));
}
