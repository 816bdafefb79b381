// The hot loops of core/networks/concentrations.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kShareLanes = 32;  // rows of add_log_shares come in multiples of this
constexpr std::size_t kLogLanes = 8;     // and those of add_log_likelihoods
// Within these, products of four stay normal numbers.
constexpr double kMinConcentration = 1e-6, kMaxConcentration = 1e6, kLeastShare = 1e-60, kMostBelow = 0x1p32;

struct JudgingRows {
  const float *n, *total, *p;
  const double* w;  // or null
  double worth;
};
struct Judging {
  double *weight, *above, *below, *prior;  // room for all rows; weight: filled only if there is w
  bool far = false;                        // is any of below as large as kMostBelow?
};

}  // namespace tb

// sum[g] += log((above + a prior) / (below + a)) over all, a = grid[g] in [kMinConcentration, kMaxConcentration],
// prior in [kLeastShare, 1], above <= below < kMostBelow.
TB_DECLARE(void, add_log_shares,
           (const double* above, const double* below, const double* prior, std::size_t count, const double* grid,
            std::size_t grid_size, double* sum))
// sum[g] += weight * log((above + a prior) / (below + a)) over all, a = grid[g]; prior where below + a is 0.
TB_DECLARE(void, add_log_likelihoods,
           (const double* weight, const double* above, const double* below, const double* prior, std::size_t count,
            const double* grid, std::size_t grid_size, double* sum))
// Rows as add_log_shares takes them, those whose total is next to nothing left out: above = n + worth, below = total +
// worth / p, prior = p, which is 1e-37 at least. Returns how many there are.
TB_DECLARE(std::size_t, judging_rows, (const JudgingRows& from, std::size_t rows, Judging& to))
