#include "kernels/neighbors.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr int F = 2 * W;  // floats of a vector
typedef float Floats __attribute__((vector_size(F * 4), may_alias));
constexpr int kVecs = W == 8 ? 2 : W == 4 ? 4 : 2;  // vectors in registers at once, of each row
constexpr int kAtOnce = W == 8 ? 4 : 2;             // rows
static_assert(kNeighborLanes % (kVecs * F) == 0 && kNeighborQueries % kAtOnce == 0);

TB_INLINE Floats read(const float* p) { return *reinterpret_cast<const Floats*>(p); }

}  // namespace

void neighbor_products(const float* point, const float* half, std::size_t blocks, std::size_t d, const float* asked,
                       float* out) {
  const std::size_t wide = blocks * kNeighborLanes;
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t lane = 0; lane < kNeighborLanes; lane += kVecs * F) {
      const float* here = point + b * d * kNeighborLanes + lane;
      for (std::size_t first = 0; first < kNeighborQueries; first += kAtOnce) {
        const float* to = asked + first * d;
        Floats sum[kAtOnce][kVecs];
        for (int a = 0; a < kAtOnce; ++a)
          for (int q = 0; q < kVecs; ++q) sum[a][q] = read(half + b * kNeighborLanes + lane + q * F);
        for (std::size_t j = 0; j < d; ++j) {
          Floats x[kVecs];
#pragma GCC unroll 4
          for (int q = 0; q < kVecs; ++q) x[q] = read(here + j * kNeighborLanes + q * F);
#pragma GCC unroll 4
          for (int a = 0; a < kAtOnce; ++a) {
            const float z = to[static_cast<std::size_t>(a) * d + j];
#pragma GCC unroll 4
            for (int q = 0; q < kVecs; ++q) sum[a][q] -= x[q] * z;
          }
        }
        for (int a = 0; a < kAtOnce; ++a) {
          float* row = out + (first + static_cast<std::size_t>(a)) * wide + b * kNeighborLanes + lane;
          for (int q = 0; q < kVecs; ++q) *reinterpret_cast<Floats*>(row + q * F) = sum[a][q];
        }
      }
    }
  }
}

}  // namespace tb::TB_ISA
