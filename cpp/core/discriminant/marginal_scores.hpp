// The scores of Gaussian discriminants for rows with missing values: these coordinates integrated out.
#pragma once
#include <cstdint>

#include "core/encode/columns.hpp"
#include "core/discriminant/quadratic_parts.hpp"

namespace tb {

// out (count, K) = log p(x_o | class) of some rows, o: the columns that are there; their values must be finite.
// q.constant is log p at the mean. A column with 0 on the diagonal of q.factor never varies: it says nothing.
// -infinity where a distance is larger than any number.
void marginal_scores(const Columns& cols, const std::int64_t* rows, std::size_t count, const Quadratic& q, double* out);

}  // namespace tb
