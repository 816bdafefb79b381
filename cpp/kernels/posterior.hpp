// From a block of log joints acc[c * kRows + r] to answers, while it is in cache. All outputs are row-major.
#pragma once
#include <cstdint>

#include "core/runtime/dispatch.hpp"
#include "core/scoring/part.hpp"

// peak[r] = max over classes. Returns one bit per row that needs a second look: all classes -inf, or a NaN or +inf
// from an overflow.
TB_DECLARE(std::uint64_t, find_peaks, (const double* acc, std::size_t rows, std::size_t classes, double* peak))

// The following take finite peaks. write_joint does not look at them; write_log_density takes any.
TB_DECLARE(void, write_joint, (const double* acc, std::size_t rows, std::size_t classes, double* out))
TB_DECLARE(void, write_proba, (double* acc, std::size_t rows, std::size_t classes, const double* peak, double* out))
TB_DECLARE(void, write_log_proba, (double* acc, std::size_t rows, std::size_t classes, const double* peak, double* out))
TB_DECLARE(void, write_best,
           (const double* acc, std::size_t rows, std::size_t classes, const double* peak, std::int64_t* out))
TB_DECLARE(void, write_log_density,
           (const double* acc, std::size_t rows, std::size_t classes, const double* peak, double* out))
