#include "kernels/nearest.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr int kLanes = static_cast<int>(kNearestLanes), kAsked = static_cast<int>(kNearestAsked);
constexpr int kVecs = W == 8 ? 2 : 2 * (4 / W), kAtOnce = W == 8 ? 4 : 2;  // vectors and rows in registers at once
static_assert(kLanes % (kVecs * W) == 0 && kAsked % kAtOnce == 0);

}  // namespace

void nearest_distances(const double* point, std::size_t blocks, std::size_t d, const double* asked, double* out) {
  const std::size_t wide = blocks * kNearestLanes;
  for (std::size_t b = 0; b < blocks; ++b) {
    const double* here = point + b * d * kNearestLanes;
    for (int first = 0; first < kAsked; first += kAtOnce) {
      for (int lane = 0; lane < kLanes; lane += kVecs * W) {
        Vec sum[kAtOnce][kVecs] = {};
        const double* to = asked + static_cast<std::size_t>(first) * d;
        for (std::size_t j = 0; j < d; ++j) {
          const double* from = here + j * kNearestLanes + lane;
          Vec x[kVecs];
#pragma GCC unroll 4
          for (int q = 0; q < kVecs; ++q) x[q] = load(from + q * W);
#pragma GCC unroll 4
          for (int a = 0; a < kAtOnce; ++a) {
            const Vec z = set(to[static_cast<std::size_t>(a) * d + j]);
#pragma GCC unroll 4
            for (int q = 0; q < kVecs; ++q) {
              const Vec away = x[q] - z;
              sum[a][q] += away * away;
            }
          }
        }
        for (int a = 0; a < kAtOnce; ++a) {
          double* row = out + static_cast<std::size_t>(first + a) * wide + b * kNearestLanes + lane;
          for (int q = 0; q < kVecs; ++q) store(row + q * W, sum[a][q]);
        }
      }
    }
  }
}

}  // namespace tb::TB_ISA
