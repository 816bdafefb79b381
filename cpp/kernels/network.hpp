// The sum over families of the logs of the cells that a row falls into.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"
#include "core/scoring/part.hpp"

namespace tb {

// Cell cell[f * kRows + r] of family f, whose first cell is at log[f]: one number per class, side by side.
struct FamilyCells {
  std::size_t families;
  const std::uint32_t* cell;
  const double* const* log;
  std::size_t classes;
};

}  // namespace tb

// out[r * classes + c] = sum over families, r < rows <= kRows.
TB_DECLARE(void, sum_families, (const FamilyCells& cells, std::size_t rows, double* out))
// to = codes of 1, 2 or 4 bytes, 0 for one whose bits are all set, and for rows beyond the last. Is there such a one?
TB_DECLARE(bool, widen_codes, (const void* codes, int bytes, std::size_t rows, std::uint32_t* to))
// cell[r] += code[r] * stride for kRows rows
TB_DECLARE(void, add_codes, (const std::uint32_t* code, std::uint32_t stride, std::uint32_t* cell))
