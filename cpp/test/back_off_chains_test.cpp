// Chains on shapes that a sanitizer should see: any number of rows, classes, parents and bins, levels that are missing
// or unknown, rows without a class; and that what is learned, left out and added up fits together.
#include "core/ensemble/back_off_chains.hpp"

#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "test/check.hpp"

using namespace tb;

namespace {

struct Case {
  std::vector<std::int32_t> column{0, 1, 1}, bins{3, 2, 4}, child{0, 1, -1, 2, -1}, parent{1, 2, 0, 1, 0},
      output{0, 1, 0, 1, 2};
  std::vector<std::int64_t> start{0, 4, 8, 11}, parent_start{0, 2, 2, 5, 5, 5};
  std::vector<std::uint8_t> map{0, 1, 2, kNoBin, 0, 0, 1, kNoBin, 0, 3, 2};
  std::vector<double> scale{1, 0.5, -1, 2, 1};
  Chains chains{Views{3, column.data(), start.data(), map.data(), bins.data()}, child.size(), child.data(),
                parent.data(), parent_start.data()};
  Outputs outputs{3, output.data(), scale.data()};
};

template <class T, class Count>
void learn_all(std::size_t n, std::size_t K, std::mt19937& random) {
  Case c;
  const Chains& chains = c.chains;
  std::vector<T> codes(2 * n);
  std::vector<std::int32_t> y(n);
  std::vector<double> w(n);
  for (T& code : codes) code = random() % 5 == 0 ? static_cast<T>(-1) : static_cast<T>(random() % 6);
  for (std::size_t r = 0; r < n; ++r) {
    y[r] = static_cast<std::int32_t>(random() % (K + 1)) - 1;
    w[r] = random() % 4 * 0.5;
  }
  const bool weighted = sizeof(Count) == 8;
  const Rows<T> rows{codes.data(), n, y.data(), weighted ? w.data() : nullptr};
  std::vector<Count> counts(chains.counts.back() * K);
  count_chains(chains, rows, K, counts.data());

  const std::vector<double> grid{0.25, 4, 64};
  for (const auto& [choices, pseudo_count] : {std::pair{std::size_t{0}, 0.0}, {grid.size(), 0.0}, {grid.size(), 1.0}}) {
    std::vector<double> concentrations(5 + 5), sums(3 * n * K);
    std::vector<float> logs(chains.orders.back() * K), left(3 * n * K);
    const SmoothingOptions smooth{{grid.data(), choices}, 100, 1.0, pseudo_count, false};
    learn_chains(chains, counts.data(), K, rows, smooth, c.outputs, concentrations.data(), logs.data(), left.data());
    for (const float x : logs) CHECK(x <= (pseudo_count > 0 ? 1.0f : 1e-5f) && x > -100);
    for (const float x : left) CHECK(std::isfinite(x));
    add_chains(chains, logs.data(), K, codes.data(), n, c.outputs, sums.data());
    for (const double x : sums) CHECK(std::isfinite(x));
    // P(bin | class, parents) sums to one: the first chain, with both parents
    for (std::size_t u = 0; u < 8; ++u) {
      for (std::size_t k = 0; k < K; ++k) {
        double sum = 0;
        for (std::size_t x = 0; x < 3; ++x) sum += std::exp(static_cast<double>(logs[(3 + 6 + u * 3 + x) * K + k]));
        CHECK(pseudo_count > 0 || std::abs(sum - 1) < 1e-4);
      }
    }
  }
  std::vector<double> exact(chains.orders.back() * K), sums(3 * n * K), spread(3 * n * K);
  laplace_chains(chains, counts.data(), K, 0.5, exact.data());
  add_chains(chains, exact.data(), K, codes.data(), n, c.outputs, sums.data());
  c.output[2] = -1;  // what its parents add goes to their columns, 0 and 1
  add_chains(chains, exact.data(), K, codes.data(), n, c.outputs, spread.data());
  for (std::size_t e = 0; e < n * K; ++e) {
    double one = 0, other = 0;
    for (std::size_t p = 0; p < 3; ++p) one += sums[p * n * K + e], other += spread[p * n * K + e];
    CHECK(std::abs(one - other) < 1e-9);
  }
}

}  // namespace

TEST(chains_of_any_shape) {
  std::mt19937 random(2);
  for (const std::size_t n : {0, 1, 7, 300, 4097}) {
    for (const std::size_t K : {1, 2, 3, 5}) {
      learn_all<std::uint8_t, std::uint32_t>(n, K, random);
      learn_all<std::uint16_t, double>(n, K, random);
      learn_all<std::uint32_t, double>(n, K, random);
    }
  }
}

TEST(chains_with_too_many_cells) {
  Case c;
  std::vector<std::int32_t> parents(40, 2);  // 4^40
  const std::vector<std::int64_t> start{0, 40};
  bool thrown = false;
  try {
    const Chains chains(c.chains.views, 1, c.child.data(), parents.data(), start.data());
  } catch (const std::length_error&) {
    thrown = true;
  }
  CHECK(thrown);
}
