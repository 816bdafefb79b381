// Logarithms of many numbers: what estimates of tables and of single rows share, so that both find the same bits.
#pragma once
#include <cstddef>

#include "core/runtime/dispatch.hpp"

// out[i] = log(x[i]) for x[i] >= 0, within a unit in the last place; 0 gives -inf, +inf and NaN themselves. A number's
// logarithm does not depend on its place. out may be x.
TB_DECLARE(void, logs, (const double* x, std::size_t n, double* out))

// The same of any numbers: NaN where x[i] <= 0, but infinities are themselves.
TB_DECLARE(void, logs_of_positive, (const double* x, std::size_t n, double* out))
