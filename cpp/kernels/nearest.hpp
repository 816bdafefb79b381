// The hot loop of core/nearest.cpp.
#pragma once
#include <cstddef>

#include "core/dispatch.hpp"

namespace tb {

constexpr std::size_t kNearestLanes = 16;  // points that lie side by side
constexpr std::size_t kNearestAsked = 4;   // rows that are asked together: what is read of a point serves all of them

}  // namespace tb

// out[a * blocks * kNearestLanes + i] = |point i - asked a|^2 for kNearestAsked rows (asked, d). point: (blocks, d,
// kNearestLanes). Dimensions are added in their order, on every instruction set.
TB_DECLARE(void, nearest_distances,
           (const double* point, std::size_t blocks, std::size_t d, const double* asked, double* out))
