// Eigenvectors of many small symmetric matrices.
#pragma once
#include <cstddef>

namespace tb {

// a (count, d, d), symmetric: vector (count, d, d) has an eigenvector in each row, value (count, d) what belongs to
// them, in no order. A matrix with a number that is not finite gives NaN. std::runtime_error if it does not come to an
// end.
void eigen(std::size_t count, std::size_t d, const double* a, double* value, double* vector);

}  // namespace tb
