// Going through a block of rows tile by tile: for the parts of real-valued columns.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/encode/cell.hpp"
#include "core/encode/columns.hpp"
#include "kernels/tile.hpp"

namespace tb {

// The first bad value in reading order, for an error that does not depend on tiles or threads.
inline void throw_first_bad(const Columns& cols, std::size_t r0, std::size_t rows, bool negative_too) {
  for (std::size_t r = r0; r < r0 + rows; ++r) {
    for (std::size_t j = 0; j < cols.d; ++j) {
      const double x = cell(cols, r, j);
      if (std::isinf(x)) throw BadValue{BadValue::infinite, r, j, x};
      if (negative_too && x < 0) throw BadValue{BadValue::negative, r, j, x};
    }
  }
}

// The tile that will be loaded after `now`: the next columns of these rows, then the first of the next rows.
inline Patch after(const Patch& now) {
  const Columns& cols = *now.cols;
  Patch next = now;
  next.j0 = now.j0 + now.width;
  if (next.j0 >= cols.d) {
    next.j0 = 0;
    next.r0 = now.r0 + now.rows;
    if (next.r0 >= cols.n) return {nullptr, 0, 0, 0, 0};
    next.rows = std::min(kRows, cols.n - next.r0);
  }
  next.width = std::min(kTile, cols.d - next.j0);
  return next;
}

// body(patch, tile, finite) for each tile of a block; centre: see load_tile.
template <class F>
void for_tiles(const Columns& cols, std::size_t r0, std::size_t rows, const double* centre, F&& body) {
  alignas(64) double tile[kTile * kRows];
  for (std::size_t j0 = 0; j0 < cols.d; j0 += kTile) {
    const Patch patch{&cols, r0, rows, j0, std::min(kTile, cols.d - j0)};
    const bool finite = TB_CALL(load_tile, patch, centre ? centre + j0 : nullptr, tile);
    body(patch, tile, finite);
  }
}

inline std::size_t tiles_of(std::size_t d) { return (d + kTile - 1) / kTile; }

// What a row without missing values gets per tile and class: per[(j / kTile) * classes + c] = sum over the tile's
// columns of from[c, j], added up in the order in which the kernels add single columns.
inline void sum_tiles(const double* from, std::size_t classes, std::size_t d, double* per) {
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t t = 0; t < tiles_of(d); ++t) {
      double sum = 0.0;
      for (std::size_t j = t * kTile; j < std::min(d, (t + 1) * kTile); ++j) sum += from[c * d + j];
      per[t * classes + c] = sum;
    }
  }
}

}  // namespace tb
