// The nearest points beside a loop over all of them, on sizes around those of blocks.
#include "core/ensemble/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "test/check.hpp"

using namespace tb;

namespace {

std::vector<double> drawn(std::mt19937& random, std::size_t count) {
  std::vector<double> out(count);
  for (double& x : out) x = static_cast<double>(random() % 9) / 4 - 1;  // so that some are equally near
  return out;
}

void check(std::size_t points, std::size_t d, std::size_t rows, std::size_t most, bool turned) {
  std::mt19937 random(static_cast<unsigned>(points + 31 * d + rows));
  const std::vector<double> point = drawn(random, points * d), row = drawn(random, rows * d);
  std::vector<double> root = drawn(random, d * d);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = i + 1; j < d; ++j) root[i * d + j] = 0;
  const Points all(point.data(), points, d, turned ? root.data() : nullptr);
  std::vector<std::int32_t> index(rows * most);
  std::vector<double> distance(rows * most);
  all.nearest(row.data(), rows, most, index.data(), distance.data());
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<std::pair<double, std::int32_t>> wanted;
    for (std::size_t i = 0; i < points; ++i) {
      double sum = 0;
      for (std::size_t a = 0; a < d; ++a) {
        double away = turned ? 0 : point[i * d + a] - row[r * d + a];
        for (std::size_t b = 0; turned && b <= a; ++b) away += root[a * d + b] * (point[i * d + b] - row[r * d + b]);
        sum += away * away;
      }
      wanted.emplace_back(sum, static_cast<std::int32_t>(i));
    }
    std::sort(wanted.begin(), wanted.end());
    for (std::size_t k = 0; k < most; ++k) {
      const std::int32_t got = index[r * most + k];
      if (k >= points) {
        CHECK(got == -1 && std::isinf(distance[r * most + k]));
        continue;
      }
      CHECK(std::abs(distance[r * most + k] - wanted[k].first) <= 1e-12);
      if (!turned) CHECK(got == wanted[k].second);  // these numbers are added without rounding
    }
  }
}

}  // namespace

TEST(nearest_points_are_those_of_a_loop) {
  for (const std::size_t points : {0, 1, 15, 16, 17, 63, 64, 65, 200})
    for (const std::size_t d : {1, 2, 7})
      for (const std::size_t rows : {0, 1, 3, 4, 5, 17, 33})
        for (const std::size_t most : {0, 1, 5, 70})
          for (const bool turned : {false, true}) check(points, d, rows, most, turned);
}

TEST(many_points_are_looked_at_roughly_first) {
  for (const std::size_t points : {1023, 1024, 1025, 1030, 2500})
    for (const std::size_t d : {1, 3})
      for (const std::size_t most : {1, 64, 1000, 3000})
        for (const bool turned : {false, true}) check(points, d, 6, most, turned);
}

TEST(points_far_from_all_others_are_found_too) {
  constexpr std::size_t n = 1500;
  for (const double offset : {0.0, 1e5, 1e20}) {
    std::vector<double> point(2 * n);
    for (std::size_t i = 0; i < n; ++i) point[2 * i] = offset + static_cast<double>(i * 7 % n), point[2 * i + 1] = 1;
    const Points all(point.data(), n, 2, nullptr);
    for (const double away : {0.0, 1e18}) {
      const double row[2] = {offset + 700.2, 1 + away};
      std::int32_t index[3];
      double distance[3];
      all.nearest(row, 1, 3, index, distance);
      if (offset < 1e20 && away == 0) {
        for (int k = 0; k < 3; ++k) CHECK(std::abs(point[2 * static_cast<std::size_t>(index[k])] - row[0]) < 2);
        CHECK(distance[0] <= distance[1] && distance[1] <= distance[2]);
      }
      for (const double x : distance) CHECK(std::isfinite(x));
    }
  }
}

TEST(points_without_a_dimension_are_all_equally_near) {
  const Points all(nullptr, 3, 0, nullptr);
  std::vector<std::int32_t> index(4);
  std::vector<double> distance(4);
  all.nearest(nullptr, 1, 4, index.data(), distance.data());
  CHECK(index[0] == 0 && index[2] == 2 && index[3] == -1 && distance[2] == 0);
}
