// Tally → parameters: the formulas that the table door and the one-row door share.
#pragma once
#include <cstddef>

namespace tb {

struct GaussianOptions {
  int ddof = 0;
  bool shared = false;
  double smoothing = 1e-9;
};

// A tally, (K, d) each; the means are mean + low (see exact_sum.hpp).
struct GaussianSums {
  const double* n;
  const double* mean;
  const double* low;
  const double* m2;
};

struct GaussianEstimate {
  double* mean;  // (K, d)
  double* low;
  double* var;
  double* epsilon;  // (d): what smoothing added to var
};

//   own:    var = m2 / (n - ddof);   shared: var = sum_c m2 / (sum_c n - ddof * classes that saw the column)
// then + smoothing * spread, where spread is the column's variance over all classes, and never below 1e-15 * spread.
// A class that never saw a column takes the mean and spread of all classes together. A column that never varies
// has variance 0 in every class: it says nothing.
void gaussian_estimate(std::size_t K, std::size_t d, const GaussianSums& s, const GaussianOptions& o,
                       const GaussianEstimate& out);

// log of (count + alpha) / (total + alpha * levels); a class with nothing counted and nothing added finds every level
// equally likely.
double log_share(double count, double total, double alpha, double levels);

}  // namespace tb
