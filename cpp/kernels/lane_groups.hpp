// How the kernels of quadratic.hpp and leave_one_out.hpp lay out a block of rows, and linear forms of it. Only for
// files in cpp/kernels.
#pragma once
#include "kernels/quadratic.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

// A group is kVecs vectors of rows; kForms linear forms are taken at a time: 12 sums in AVX2's 16 registers, 24 in
// AVX-512's 32.
constexpr int kVecs = W == 8 ? 4 : 2;
constexpr int kForms = 6;
constexpr std::size_t kGroup = static_cast<std::size_t>(kVecs * W);
static_assert(kRows % kGroup == 0);

TB_INLINE std::size_t groups_of(std::size_t rows) { return (rows + kGroup - 1) / kGroup; }

// sums[m] += sum over j < count of a[m * step + j] * x_j.
template <int forms>
TB_INLINE void multiply(const double* a, std::size_t step, std::size_t count, const double* x,
                        Vec (&sums)[forms][kVecs]) {
  for (std::size_t j = 0; j < count; ++j, x += kGroup) {
    Vec v[kVecs];
#pragma GCC unroll 8
    for (int q = 0; q < kVecs; ++q) v[q] = load(x + q * W);
#pragma GCC unroll 8
    for (int m = 0; m < forms; ++m) {
      const Vec f = set(a[static_cast<std::size_t>(m) * step + j]);
#pragma GCC unroll 8
      for (int q = 0; q < kVecs; ++q) sums[m][q] += f * v[q];
    }
  }
}

// body.template operator()<forms>(i) from 0 to count, in steps of kForms or one less where that leaves no thin rest.
template <class F>
TB_INLINE void by_forms(std::size_t count, F&& body) {
  std::size_t i = 0;
  for (std::size_t steps = (count + kForms - 1) / kForms; steps > 0; --steps) {
    switch ((count - i) / steps) {
      case 1:
        body.template operator()<1>(i), i += 1;
        break;
      case 2:
        body.template operator()<2>(i), i += 2;
        break;
      case 3:
        body.template operator()<3>(i), i += 3;
        break;
      case 4:
        body.template operator()<4>(i), i += 4;
        break;
      case 5:
        body.template operator()<5>(i), i += 5;
        break;
      default:
        body.template operator()<kForms>(i), i += kForms;
    }
  }
}

}  // namespace tb::TB_ISA
