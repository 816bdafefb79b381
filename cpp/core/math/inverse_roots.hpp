// Roots of inverse covariances: F lower triangular with F'F = S^-1.
#pragma once
#include <cstddef>

namespace tb {

struct Root {
  double log_det;  // of S; NaN if S is not positive: then there is no root
  double trace;    // of S^-1 in the given units; no eigenvalue of S in them is below 1 / trace
};

// s (count, d, d), symmetric (only lower triangles are read), becomes F, with zeros above the diagonal. unit (count,
// d): what the columns are measured in while it is computed.
void roots(std::size_t count, std::size_t d, double* s, const double* unit, Root* out);

// weight_k = F'F a_k and square[k] = |F a_k|^2 for `count` vectors a (count, d).
void solve_normal(const double* factor, std::size_t d, const double* a, std::size_t count, double* weight,
                  double* square);

}  // namespace tb
