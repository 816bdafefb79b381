// Log densities of regularised Gaussians for rows that are in their sums, each leave-one-out: by a rank-one downdate
// (Sherman-Morrison), as ensemble/gaussian_copula.py says.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tb {

struct LeaveOneOutNormal {
  std::size_t rows, classes, columns;
  const double* z;        // (rows, columns)
  const std::int32_t* y;  // rows, each in [0, classes)
  const double* unit;     // rows: the weight that leaves with each
  const double* n;        // classes
  const double* mean;     // (classes, columns)
  const double* root;     // (classes, columns, columns), lower triangular: root'root is the inverse covariance
  const double* log_det;  // classes: of the covariance
  const double* below;    // classes: the divisor of its scatter
  const double* half;     // (rows, classes): -|root (z - mean)|^2 / 2
  double shared, diagonal;
  const double* freedom;  // of Student's t; infinite: the normal distribution
  std::size_t freedoms;
};

// out (freedoms, rows, classes). False: not all are finite.
bool leave_one_out_normal(const LeaveOneOutNormal& t, double* out);

}  // namespace tb
