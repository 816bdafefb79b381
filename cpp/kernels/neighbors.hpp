// The hot loop of core/ensemble/neighbors.cpp.
#pragma once
#include <cstddef>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kNeighborLanes = 32;   // points that lie side by side
constexpr std::size_t kNeighborQueries = 4;  // rows that are asked together: what is read of a point serves all of them

}  // namespace tb

// out[a * blocks * kNeighborLanes + i] = half[i] - point i * asked a for kNeighborQueries rows (asked, d): with half of
// each point's square, half of the square of their distance, but for what is the same for all points. point: (blocks,
// d, kNeighborLanes), at a cache line as half and out are.
TB_DECLARE(void, neighbor_products,
           (const float* point, const float* half, std::size_t blocks, std::size_t d, const float* asked, float* out))
