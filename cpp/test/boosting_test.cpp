// BoostedTrees on inputs that a sanitizer should see: rows without class, weight or bin, columns of one bin, no rows.
#include <cmath>
#include <random>
#include <vector>

#include "core/ensemble/back_off_chains.hpp"
#include "core/ensemble/boosting.hpp"
#include "test/check.hpp"

using namespace tb;

namespace {

BoostedTrees boosted(std::size_t n, std::size_t classes, std::size_t depth, bool noise, double validation = 0) {
  std::mt19937 random(static_cast<unsigned>(n + classes));
  const std::vector<std::int32_t> bins{255, 1, 4, 2, 30};
  constexpr std::size_t columns = 5;
  const bool ordered[columns] = {true, true, false, false, true};
  std::vector<std::uint8_t> bin(columns * n);
  for (std::size_t i = 0; i < bin.size(); ++i) {
    const auto most = static_cast<unsigned>(bins[i / n]);
    bin[i] = random() % 9 ? static_cast<std::uint8_t>(random() % most) : kNoBin;
  }
  std::vector<std::int32_t> y(n);
  std::vector<double> w(n), joint(n * classes);
  std::vector<std::uint64_t> key(n);
  for (std::size_t r = 0; r < n; ++r) {
    const std::size_t rule = (bin[4 * n + r] < 12) != (bin[2 * n + r] == 1);
    y[r] = random() % 20 ? static_cast<std::int32_t>((noise ? random() : rule) % classes) : -1;
    w[r] = static_cast<double>(random() % 4) * 0.7;
    key[r] = (std::uint64_t{random()} << 32) | random();
  }
  for (double& x : joint) x = static_cast<double>(random() % 100) / 50 - 1;
  return fit_boosting(
      {n, classes, columns, bin.data(), bins.data(), ordered, y.data(), w.data(), joint.data(), key.data()},
      {20, 5, depth, 3, 500, 1, 0.3, 1.0, 1.0, 0.5, 1.0, 0.0, depth, validation});
}

}  // namespace

TEST(boosting_of_any_rows) {
  for (const std::size_t n : {0, 1, 2, 7, 8, 33, 700}) {
    for (const std::size_t classes : {1, 2, 5, 9, 20}) {
      for (const std::size_t depth : {1, 6, 15}) {
        for (const double validation : {0.0, 0.3}) {
          const BoostedTrees all = boosted(n, classes, depth, false, validation);
          CHECK(all.gain >= 0);
          for (const ObliviousTree& one : all.trees) {
            CHECK(!one.column.empty() && one.column.size() <= depth && one.cut.size() == one.column.size());
            CHECK(one.value.size() == ((std::size_t{2} << one.column.size()) - 1) * classes);
            for (const double v : one.value) CHECK(std::isfinite(v));
          }
        }
      }
    }
  }
}

TEST(a_rule_is_boosted_more_than_noise) {
  const BoostedTrees rule = boosted(3000, 2, 6, false), noise = boosted(3000, 2, 6, true);
  CHECK(rule.trees.size() > 5);
  CHECK(rule.gain > 2 * noise.gain);
  const BoostedTrees judged = boosted(3000, 2, 6, false, 0.3), fooled = boosted(3000, 2, 6, true, 0.3);
  CHECK(judged.trees.size() > 5);
  CHECK(judged.gain > 2 * fooled.gain);
}
