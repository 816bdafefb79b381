// Categories of NumPy arrays to codes: texts of a fixed width, and numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/encode/codes.hpp"
#include "core/encode/columns.hpp"
#include "core/encode/known_levels.hpp"

namespace tb {

// NumPy's 'U' (UCS-4, in this or the other byte order) and 'S' (bytes, taken as UTF-8) arrays: `width`
// characters per row, those at the end that are NUL left out.
struct FixedTexts {
  const char* data;
  std::ptrdiff_t stride;  // bytes from one row to the next
  std::size_t rows;
  std::size_t width;
  enum Unit { bytes, ucs4, ucs4_swapped } unit;
};

// As arrow::encode; a row that is no text throws BadRow.
Codes encode(const FixedTexts& texts, Known& levels, bool grow);

// NaN is kMissing; an infinity throws BadValue with column `col`.
Codes encode(const Column& column, std::size_t rows, Known& levels, bool grow, std::size_t col);

// Whole numbers below `size` (u8, u16 or u32), numbered as they appear; the row where each number first did.
// there: 0 for a row that is missing; null: none is. A number that is too large throws std::invalid_argument.
struct Appearances {
  Codes codes;
  std::vector<std::int64_t> first;
};
Appearances by_appearance(const Column& column, const Column* there, std::size_t rows, std::size_t size);

}  // namespace tb
