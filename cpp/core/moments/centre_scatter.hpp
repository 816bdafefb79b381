// From sums about the shifts to means and scatter about the means.
#pragma once
#include <cstddef>

namespace tb {

struct ScatterShape {
  std::size_t classes;
  std::size_t d;
  bool pooled;
};

// sums (K, d): weighted sums of x - shift, becomes the means, and low (K, d) what these lack as doubles; s: lower
// triangles of the sums of products about the shifts, becomes the whole matrices about the means. Gives back the first
// column that is too large for a double, or d.
std::size_t centre_scatter(const ScatterShape& shape, const double* shift, const double* n, double* sums, double* low,
                           double* s);

}  // namespace tb
