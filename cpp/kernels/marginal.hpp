// Gaussians with coordinates missing, one row at a time (core/marginal.cpp). Vectors lie `stride` numbers apart, a
// multiple of kMarginalPad, and are zero beyond their length.
#pragma once
#include <cstddef>

#include "core/dispatch.hpp"

namespace tb {
constexpr std::size_t kMarginalPad = 16;
}

// z = sum over j < d of x[j] columns[j], where the first j numbers of column j are 0.
TB_DECLARE(void, combine_columns,
           (const double* columns, std::size_t stride, const double* x, std::size_t d, double* z))

// The vectors q (count, stride) become orthonormal, one after the other (modified Gram-Schmidt):
// old_i = sum over j <= i of r[j * count + i] new_j.
TB_DECLARE(void, orthonormal, (double* q, std::size_t count, std::size_t stride, double* r))

// The square of what is left of z - place outside the span of orthonormal q (count, stride). work: stride numbers.
TB_DECLARE(double, square_outside,
           (const double* q, std::size_t count, std::size_t stride, const double* z, const double* place, double* work))
