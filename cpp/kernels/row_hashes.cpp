#include "kernels/row_hashes.hpp"

#include <cfloat>

#include "kernels/simd.hpp"

namespace tb::TB_ISA {

// The compiler makes vectors of these loops.

double largest_size(const double* x, std::size_t count) {
  double most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double size = __builtin_fabs(x[i]);
    const double finite = size <= DBL_MAX ? size : 0.0;
    most = finite > most ? finite : most;
  }
  return most;
}

std::uint64_t sum_value_hashes(const double* x, std::size_t count, double largest) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += value_hash(x[i], largest);
  return sum;
}

void add_value_hashes(const double* x, std::size_t count, double largest, std::uint64_t shift, std::uint64_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] += mixed(value_hash(x[i], largest) + shift);
}

}  // namespace tb::TB_ISA
