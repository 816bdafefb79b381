// A tile: up to kTile columns of up to kRows rows as doubles, column after column, so that one vector
// instruction works on neighbouring rows. Whatever the table's types and memory order, kernels see this.
#pragma once
#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"
#include "core/scoring/part.hpp"

namespace tb {

constexpr std::size_t kTile = 28;  // 64 x 28 doubles: 14 KiB, half of the first-level cache

// Rows [r0, r0 + rows) and columns [j0, j0 + width) of a table.
struct Patch {
  const Columns* cols;
  std::size_t r0;
  std::size_t rows;
  std::size_t j0;
  std::size_t width;
};

}  // namespace tb

// tile[j * kRows + r] = the value at row r0 + r, column j0 + j, less centre[j] unless that is null. Rows are filled up
// with zeros to a whole vector. True if every value is finite.
TB_DECLARE(bool, load_tile, (const Patch& from, const double* centre, double* tile))
// Is there an infinite value? A value below 0?
TB_DECLARE(bool, tile_has_infinite, (const double* tile, std::size_t rows, std::size_t width))
TB_DECLARE(bool, tile_has_negative, (const double* tile, std::size_t rows, std::size_t width))
