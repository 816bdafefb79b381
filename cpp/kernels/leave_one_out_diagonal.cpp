#include "kernels/leave_one_out_diagonal.hpp"

#include "kernels/log.hpp"

namespace tb::TB_ISA {
namespace {

constexpr int kVecs = W == 8 ? 2 : 4;      // vectors in registers at once
constexpr std::size_t kSafeFactors = 512;  // factors below 2 whose product is a double
constexpr std::int64_t kFraction = 0x000fffffffffffff, kOne = 0x3ff0000000000000;

}  // namespace

// A logarithm for each column would be most of the work: fractions are multiplied, exponents added, and one is taken.
void axes_terms(const double* own, const double* shared, const double* away, std::size_t d, const double* a,
                const double* b, const double* c, std::size_t points, double* out) {
  for (std::size_t p = 0; p < points; p += kVecs * W) {
    Vec aa[kVecs], bb[kVecs], cc[kVecs], sum[kVecs] = {};
    for (int q = 0; q < kVecs; ++q) {
      const std::size_t at = p + static_cast<std::size_t>(q * W);
      aa[q] = load(a + at), bb[q] = load(b + at), cc[q] = load(c + at);
    }
    for (std::size_t j0 = 0; j0 < d; j0 += kSafeFactors) {
      Vec product[kVecs];
      Mask exponent[kVecs] = {};
      for (int q = 0; q < kVecs; ++q) product[q] = set(1.0);
      const std::size_t end = d - j0 < kSafeFactors ? d : j0 + kSafeFactors;
      for (std::size_t j = j0; j < end; ++j) {
        const Vec o = set(own[j]), s = set(shared[j]), z = set(away[j]);
#pragma GCC unroll 8
        for (int q = 0; q < kVecs; ++q) {
          Vec v = aa[q] * o + bb[q] * s + cc[q];
          v = pick(v < 0x1p-1022, set(0x1p-1022), v);
          sum[q] += z / v;
          const Mask bits = reinterpret_cast<Mask>(v);
          exponent[q] += bits >> 52;
          product[q] *= reinterpret_cast<Vec>((bits & kFraction) | kOne);
        }
      }
      const double bias = 1023.0 * static_cast<double>(end - j0);
      for (int q = 0; q < kVecs; ++q) {
        const Vec power = __builtin_convertvector(exponent[q], Vec) - bias;
        sum[q] += log_all(product[q]) + power * 6.93147180559945309417e-01;
      }
    }
    for (int q = 0; q < kVecs; ++q) store(out + p + static_cast<std::size_t>(q * W), sum[q]);
  }
}

}  // namespace tb::TB_ISA
