// Temperatures of rows that a sanitizer should see: none, fewer than a vector has lanes, more than a block, impossible
// classes, numbers that are none.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/ensemble/temperature.hpp"
#include "test/check.hpp"

using namespace tb;

TEST(temperatures_of_any_rows) {
  std::mt19937 random(3);
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const std::size_t n : {0, 1, 7, 8, 1024, 1025, 3000}) {
    for (const std::size_t K : {1, 2, 5}) {
      std::vector<double> prior(n * K), likelihood(n * K), w(n);
      std::vector<std::int32_t> y(n);
      for (std::size_t i = 0; i < n * K; ++i) {
        prior[i] = -static_cast<double>(random() % 5);
        const auto what = random() % 40;
        likelihood[i] = what == 0 ? -inf : what == 1 ? std::nan("") : static_cast<double>(random() % 100) - 50;
      }
      for (std::size_t r = 0; r < n; ++r) {
        y[r] = static_cast<std::int32_t>(random() % (K + 1)) - 1;
        w[r] = static_cast<double>(random() % 3);
      }
      const TemperatureLoss rows(prior.data(), likelihood.data(), y.data(), w.data(), n, K);
      double last = -inf;
      for (const double beta : {1e-3, 0.3, 1.0, 20.0}) {
        const TemperatureSums s = rows.at(beta);
        CHECK(s.loss >= 0 && std::isfinite(s.loss) && std::isfinite(s.mean) && s.variance >= 0);
        CHECK(s.mean >= last - 1e-9 * std::abs(last));  // the slope of a convex function
        last = s.mean;
      }
      if (n == 0 || K == 1) CHECK(rows.flat());
    }
  }
}
