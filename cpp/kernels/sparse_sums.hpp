// Sums over the stored values of sparse rows, and whether their indices are sound.
#pragma once
#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

namespace tb {

struct SparseRows {
  const Csr* x;
  const std::uint32_t* row;  // which rows
  std::size_t m;
  const double* w;          // per row of the matrix, or null
  const double* threshold;  // or null: sum the values
};

}  // namespace tb

// sum[t] += w * x for the stored values of the rows, or w where x > threshold. False if a value is not
// finite or (without a threshold) negative.
TB_DECLARE(bool, add_sparse, (const SparseRows& s, double* sum))

// Of rows [begin, end): whether all indices lie in [0, d); rising: whether those of each row rise.
TB_DECLARE(bool, check_sparse, (const Csr& x, std::size_t begin, std::size_t end, bool& rising))
