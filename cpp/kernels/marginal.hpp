// Gaussians with coordinates missing. One row at a time (core/discriminant/marginal_scores.cpp): vectors lie `stride`
// numbers apart, a multiple of kMarginalPad, and are zero beyond their length.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {
constexpr std::size_t kMarginalPad = 16;
constexpr std::size_t kMarginalLanes = 8;  // rows at a time, if
constexpr std::size_t kMarginalMost = 64;  // they have no more columns
constexpr std::size_t kMarginalStep = 4;   // numbers of a lane at a time
}  // namespace tb

// z = sum over j < d of x[j] columns[j], where the first j numbers of column j are 0.
TB_DECLARE(void, combine_columns,
           (const double* columns, std::size_t stride, const double* x, std::size_t d, double* z))

// The vectors q (count, stride) become orthonormal, one after the other (modified Gram-Schmidt):
// old_i = sum over j <= i of r[j * count + i] new_j.
TB_DECLARE(void, orthonormal, (double* q, std::size_t count, std::size_t stride, double* r))

// The square of what is left of z - place outside the span of orthonormal q (count, stride). work: stride numbers.
TB_DECLARE(double, square_outside,
           (const double* q, std::size_t count, std::size_t stride, const double* z, const double* place, double* work))

// Rows in lanes (core/discriminant/marginal_lanes.cpp): number i of vector t at [t][i][lane].

// z = sum over j <= i of x[j] columns[j][i] for each lane; columns as above, x and z (d, lanes).
TB_DECLARE(void, combine_lanes, (const double* columns, std::size_t stride, const double* x, std::size_t d, double* z))

// As orthonormal; r (count, count, lanes). Vector t is zero, and not read, outside [begin[t], end[t]); no vector is
// shorter than one before it. begin and end are multiples of kMarginalStep, or d: which numbers are summed together
// does not depend on the other lanes.
TB_DECLARE(void, orthonormal_lanes,
           (double* q, std::size_t count, std::size_t d, const std::uint32_t* begin, const std::uint32_t* end,
            double* r))

// As square_outside, for vectors that end at d; place (d) is that of all lanes. square: of each lane.
TB_DECLARE(void, outside_lanes,
           (const double* q, std::size_t count, std::size_t d, const std::uint32_t* begin, const double* z,
            const double* place, double* work, double* square))

// The square of the solution of R' y = x. x (count, lanes) becomes y.
TB_DECLARE(void, solve_lanes, (const double* r, std::size_t count, double* x, double* square))
