// Bins and class trees on inputs that a sanitizer should see: empty columns and levels, rows without class or code.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "core/ensemble/random_bins.hpp"
#include "core/ensemble/class_trees.hpp"
#include "core/counts/joint_tables.hpp"
#include "test/check.hpp"

using namespace tb;

TEST(bins_of_any_counts) {
  std::mt19937 random(1);
  const std::vector<std::int64_t> size{0, 1, 2, 255, 400, 30, 3};
  const std::vector<std::uint8_t> ordered{1, 1, 1, 1, 1, 0, 0};
  for (const std::size_t K : {0, 1, 2, 9}) {
    for (const double scale : {0.0, 0.3, 1.0, 1e4, 1e12, 1e300}) {
      std::vector<double> count(K * 691);
      for (double& n : count) n = random() % 3 ? scale * static_cast<double>(random() % 20) : 0.0;
      for (const double share : {0.0, 1.0}) {
        std::vector<std::uint8_t> map(4 * 691, 99);
        std::vector<std::int32_t> bins(4 * size.size());
        std::vector<std::int32_t> turn(bins.size());
        for (std::int32_t& k : turn) k = static_cast<std::int32_t>(random() % 4);
        draw_bins({K, size.size(), count.data(), size.data(), ordered.data(), 4, 1, 64, share, turn.data(), random()},
                  map.data(), bins.data());
        const std::uint8_t* m = map.data();
        for (std::size_t i = 0; i < bins.size(); m += size[i++ % size.size()]) {
          CHECK(bins[i] >= 1 && bins[i] <= static_cast<std::int32_t>(kMostBins));
          const std::int64_t levels = size[i % size.size()];
          for (std::int64_t v = 0; v < levels; ++v) CHECK(m[v] < bins[i]);
          if (ordered[i % size.size()]) CHECK(std::is_sorted(m, m + levels));
        }
      }
    }
  }
}

namespace {

template <class T>
void grow_some(std::size_t n, std::size_t classes, bool weighted) {
  std::mt19937 random(static_cast<unsigned>(n));
  constexpr std::size_t columns = 3, levels = 5, splits = 7, members = 4, depth = 6, tries = 3;
  std::vector<T> code(columns * n);
  for (T& c : code) c = random() % 8 ? static_cast<T>(random() % levels) : kNoCode<T>;
  std::vector<std::int32_t> y(n), column(splits), bins(splits), candidate(members * depth * tries),
      chosen(members * depth);
  std::vector<double> w(n);
  std::vector<std::uint8_t> map;
  for (std::size_t r = 0; r < n; ++r) {
    y[r] = static_cast<std::int32_t>((random() % 4 + code[r]) % (classes + 1)) - 1;
    w[r] = static_cast<double>(random() % 4) * 0.7;
  }
  for (std::size_t s = 0; s < splits; ++s) {
    column[s] = static_cast<std::int32_t>(random() % columns);
    bins[s] = s == 0 ? 255 : static_cast<std::int32_t>(1 + random() % 4);
    for (std::size_t v = 0; v <= levels; ++v) {
      map.push_back(random() % 7
                        ? static_cast<std::uint8_t>(random() % static_cast<unsigned>(bins[s] == 255 ? 254 : bins[s]))
                        : kNoBin);
    }
  }
  for (std::int32_t& s : candidate) s = static_cast<std::int32_t>(random() % (splits + 1)) - 1;
  const std::vector<double> grid{1e-6, 1.0, 10.0, 1e6};
  grow_class_trees(ClassTreeGrowth{n,
                                   classes,
                                   y.data(),
                                   weighted ? w.data() : nullptr,
                                   levels,
                                   column.data(),
                                   map.data(),
                                   bins.data(),
                                   members,
                                   depth,
                                   tries,
                                   candidate.data(),
                                   {grid.data(), grid.size()},
                                   1e15},
                   code.data(), chosen.data());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto first = candidate.begin() + static_cast<std::ptrdiff_t>(i * tries);
    CHECK(chosen[i] == -1 || std::find(first, first + tries, chosen[i]) != first + tries);
  }
}

}  // namespace

TEST(contexts_of_any_rows) {
  for (const std::size_t n : {0, 1, 2, 31, 33, 513, 2000}) {
    for (const std::size_t classes : {1, 2, 5}) {
      for (const bool weighted : {false, true}) {
        grow_some<std::uint8_t>(n, classes, weighted);
        grow_some<std::uint16_t>(n, classes, weighted);
        grow_some<std::uint32_t>(n, classes, weighted);
      }
    }
  }
}
