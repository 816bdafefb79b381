// Sums over the rows of a sparse matrix, class by class.
#pragma once
#include "core/encode/columns.hpp"

namespace tb {

// out: (classes, d): sum of w * x, or with a threshold (not negative) the weight of the rows with
// x > threshold. Throws BadValue infinite (also for NaN) and, without a threshold, negative; overflow.
// Works class by class: memory is n row numbers and one row of sums per thread.
void csr_sums(const Csr& x, const std::int32_t* y, const double* w, std::size_t classes, const double* threshold,
              double* out);

// Throws std::invalid_argument unless the row starts run from 0 to nnz without falling and every index is below d.
// Returns whether the indices of each row rise: sorted, and no cell twice.
bool check_csr(const Csr& x, std::size_t nnz);

}  // namespace tb
