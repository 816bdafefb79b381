// Herding (Welling 2009): picks, of many candidate draws, a sequence whose feature frequencies match those of all draws
// as closely as possible after every pick.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tb {

// taken (members): each step adds its share to the residual of every feature, takes the draw with the largest residual
// (of equal ones the first), and subtracts what that draw has. has (draws, each): features, below count; share (count).
void low_discrepancy_design(const std::int32_t* has, std::size_t draws, std::size_t each, const double* share,
                            std::size_t count, std::size_t members, std::int64_t* taken);

}  // namespace tb
