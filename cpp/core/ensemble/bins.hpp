// Bins: the levels of a column joined into at most 255 groups, one byte each.
#pragma once
#include <cstdint>

namespace tb {

constexpr std::uint8_t kNoBin = 255;  // missing: a row takes no part in what depends on this bin

}  // namespace tb
