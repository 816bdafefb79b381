#include "core/math/eigen.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/runtime/aligned_array.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/eigen.hpp"

namespace tb {

void eigen(std::size_t count, std::size_t d, const double* a, double* value, double* vector) {
  const std::size_t lanes = TB_CALL(eigen_lanes), cells = d * d;
  parallel_for((count + lanes - 1) / lanes, [&](std::size_t group, int) {
    const std::size_t first = group * lanes, some = std::min(lanes, count - first);
    AlignedArray space((cells + 2 * d) * lanes);
    double *m = space.data(), *diagonal = m + cells * lanes, *work = diagonal + d * lanes;
    for (std::size_t i = 0; i < cells; ++i) {  // lanes to spare repeat the last matrix
      for (std::size_t q = 0; q < lanes; ++q) m[i * lanes + q] = a[(first + std::min(q, some - 1)) * cells + i];
    }
    if (!TB_CALL(eigen_of_lanes, m, d, diagonal, work)) throw std::runtime_error("eigenvalues did not converge");
    for (std::size_t q = 0; q < some; ++q) {
      double* to = vector + (first + q) * cells;
      for (std::size_t i = 0; i < cells; ++i) to[i] = m[i * lanes + q];
      for (std::size_t j = 0; j < d; ++j) value[(first + q) * d + j] = diagonal[j * lanes + q];
    }
  });
}

}  // namespace tb
