// Gaussian terms of wide rows: each row is read where it lies, its columns in vectors, a few rows and classes at a
// time. Nothing is turned into tiles first, so that the table streams through once. Few columns would leave lanes idle:
// those go through add_gaussian of scores.hpp. Which of the two depends on the number of columns alone.
#pragma once
#include <cstddef>

#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"
#include "kernels/scores.hpp"

namespace tb {

constexpr std::size_t kStretch = 64;  // columns at a time, at most; at least four vectors of them

// Some columns of up to kRows rows: row r begins at x + r * stride, f64 or f32.
struct Stretch {
  const char* x;
  std::ptrdiff_t stride;
  Dtype dtype;
  std::size_t rows;
  std::size_t width;
  bool more;  // rows follow these in memory: worth asking for
};

}  // namespace tb

// The rows are wide enough, the classes few enough.
TB_DECLARE(bool, gaussian_by_rows, (std::size_t classes, std::size_t d))
// How many doubles lay_gaussian writes: the terms of a stretch as add_gaussian_rows reads them.
TB_DECLARE(std::size_t, gaussian_laid, (std::size_t classes, std::size_t width))
TB_DECLARE(void, lay_gaussian, (const GaussianTerms& terms, std::size_t j0, std::size_t width, double* to))
// acc[c * kRows + r] += the terms of the stretch; a missing value has none. False if a value is infinite.
TB_DECLARE(bool, add_gaussian_rows, (const Stretch& from, const double* laid, std::size_t classes, double* acc))
