// Asking for a part of a table before it is needed. Only for files in cpp/kernels: everything here is static.
#pragma once
#include "kernels/simd.hpp"
#include "kernels/tile.hpp"

namespace tb::TB_ISA {

// The share-th of `of` parts of the lines of a patch. Always inlined: a call that does nothing but fetch looks to GCC
// as if it did nothing, and would be left out.
TB_INLINE void fetch(const Patch& next, std::size_t share, std::size_t of) {
  if (next.cols == nullptr) return;
  const Columns& cols = *next.cols;
  const bool rows = cols.row_major;
  const std::size_t lines = rows ? next.rows : next.width;
  for (std::size_t i = lines * share / of; i < lines * (share + 1) / of; ++i) {
    const Column& column = cols.col[rows ? next.j0 : next.j0 + i];
    const char* p = column.data + static_cast<std::ptrdiff_t>(rows ? next.r0 + i : next.r0) * column.stride;
    const std::ptrdiff_t end = rows ? cols.col[next.j0 + next.width - 1].data - column.data
                                    : static_cast<std::ptrdiff_t>(next.rows - 1) * column.stride;
    if (!rows && (column.stride < 1 || column.stride > 8)) continue;  // one line per value: leave it to the hardware
    for (std::ptrdiff_t b = 0; b <= end + 63; b += 64) __builtin_prefetch(p + b, 0, 2);
  }
}

}  // namespace tb::TB_ISA
