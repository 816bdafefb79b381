// Class codes of rows, where classes are few: each is looked for by itself, in whole vectors.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kFewClasses = 16;

}  // namespace tb

// count[c] += rows with y == c, for c < classes. n below 2^31.
TB_DECLARE(void, count_classes, (const std::int32_t* y, std::size_t n, std::size_t classes, std::uint32_t* count))

// Writes the rows with y == c, in their order, and returns how many there are. There must be room for n and 16 more.
TB_DECLARE(std::size_t, list_class, (const std::int32_t* y, std::size_t n, std::int32_t c, std::uint32_t* row))
