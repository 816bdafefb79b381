// Herding (Welling 2009): of many draws those whose features, after each of them, have come as nearly as can be as
// often as in all draws.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tb {

// taken (members): at each step every feature is owed its share, that draw is taken whose features are owed most (of
// equal ones the first), and what it has is owed no more. has (draws, each): features, below count; share (count).
void low_discrepancy_design(const std::int32_t* has, std::size_t draws, std::size_t each, const double* share,
                            std::size_t count, std::size_t members, std::int64_t* taken);

}  // namespace tb
