// The inner loop of leave-one-out losses along the axes: see core/discriminant/leave_one_out_diagonal.hpp.
#pragma once
#include <cstddef>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kGridStep = 16;  // points of a grid come in multiples of this, on every instruction set

}  // namespace tb

// out[p] = sum over d columns of log v + away / v,  v = max(a[p] own + b[p] shared + c[p], the least normal number).
TB_DECLARE(void, axes_terms,
           (const double* own, const double* shared, const double* away, std::size_t d, const double* a,
            const double* b, const double* c, std::size_t points, double* out))
