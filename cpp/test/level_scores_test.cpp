// Level scores of many rows beside those of each row alone, on sizes around those of blocks.
#include "core/ensemble/level_scores.hpp"

#include <limits>
#include <random>
#include <vector>

#include "test/check.hpp"

using namespace tb;

TEST(level_scores_of_rows_are_those_of_each_alone) {
  constexpr std::size_t K = 2, kColumns = 3;
  std::mt19937 random(7);
  const auto drawn = [&](std::size_t n) {
    std::vector<double> out(n);
    for (double& x : out) x = static_cast<double>(random() % 9) / 4 - 1;
    return out;
  };
  const std::vector<double> bias = drawn(K), table = drawn(4 * K), value = drawn(8), mean = drawn(2 * K),
                            root = drawn(4 * K), constant = drawn(K);
  const std::int32_t column[] = {0, 2};
  const std::int64_t start[] = {0, 4, 8};
  for (const double freedom : {10.0, std::numeric_limits<double>::infinity()}) {
    const LevelScores of{K,
                         bias.data(),
                         {{1, 3, table.data(), 0.5}},
                         {2, column, start, value.data(), mean.data(), root.data(), constant.data(), freedom, 0.3}};
    for (const std::size_t n : {0u, 1u, 64u, 511u, 513u, 1025u}) {
      std::vector<std::uint8_t> codes(kColumns * n);
      for (auto& code : codes) code = random() % 7 == 0 ? 255 : static_cast<std::uint8_t>(random() % 4);
      std::vector<double> out(n * K);
      bool some = false;
      const bool missing = add_level_scores(of, codes.data(), kColumns, n, out.data());
      for (std::size_t r = 0; r < n; ++r) {
        const std::uint8_t own[] = {codes[r], codes[n + r], codes[2 * n + r]};
        double alone[K] = {};
        some |= add_level_scores(of, own, kColumns, 1, alone);
        for (std::size_t c = 0; c < K; ++c) CHECK(alone[c] == out[r * K + c]);
      }
      CHECK(some == missing);
    }
  }
}
