// The hot loop of core/grow_contexts.cpp.
#pragma once
#include <cstddef>

#include "core/dispatch.hpp"

namespace tb {

constexpr std::size_t kContextLanes = 32;  // rows come in multiples of this
constexpr double kLeastShare = 1e-60;      // with strengths of 1e-6 and more, products of four stay normal

}  // namespace tb

// sum[g] += log((above + a prior) / (below + a)) over all, a = grid[g] in [1e-6, 1e6], prior in [kLeastShare, 1],
// above <= below < 2^32.
TB_DECLARE(void, add_log_shares,
           (const double* above, const double* below, const double* prior, std::size_t count, const double* grid,
            std::size_t grid_size, double* sum))
