#include "core/ensemble/low_discrepancy.hpp"

#include <vector>

namespace tb {
namespace {

// The residual of the features of one draw. Many draws have the same but for the rounding, and members were always
// in the order of NumPy's: eight sums side by side, then the rest.
double residual_of(const std::int32_t* has, std::size_t each, const double* residual) {
  std::size_t k = 0;
  double all = 0;
  if (each >= 8) {
    double sum[8];
    for (; k < 8; ++k) sum[k] = residual[has[k]];
    for (; k + 8 <= each; k += 8)
      for (std::size_t q = 0; q < 8; ++q) sum[q] += residual[has[k + q]];
    all = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  }
  for (; k < each; ++k) all += residual[has[k]];
  return all;
}

}  // namespace

void low_discrepancy_design(const std::int32_t* has, std::size_t draws, std::size_t each, const double* share,
                            std::size_t count, std::size_t members, std::int64_t* taken) {
  std::vector<double> residual(count, 0.0), came(count, 0.0);
  for (std::size_t m = 0; m < members; ++m) {
    for (std::size_t f = 0; f < count; ++f) residual[f] += share[f];
    std::size_t best = 0;
    double most = 0;
    for (std::size_t i = 0; i < draws; ++i) {
      const double all = residual_of(has + i * each, each, residual.data());
      if (i > 0 && !(all > most)) continue;
      most = all;
      best = i;
    }
    taken[m] = static_cast<std::int64_t>(best);
    const std::int32_t* own = has + best * each;
    for (std::size_t k = 0; k < each; ++k) came[static_cast<std::size_t>(own[k])] += 1.0;  // one may come twice
    for (std::size_t k = 0; k < each; ++k) {
      const auto f = static_cast<std::size_t>(own[k]);
      residual[f] -= came[f];
      came[f] = 0.0;
    }
  }
}

}  // namespace tb
