// The shape of panels and tiles for this instruction set. Only for files in cpp/kernels.
//   panel: kPanel columns        tile: one panel times up to kWide panels side by side, sums of products in registers
// AVX2 has 16 registers: 4 x 3 sums, 3 vectors of the wide side, one number of the other spread over a vector.
#pragma once
#include "kernels/scatter.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

constexpr std::size_t kPanel = W == 8 ? 8 : 4;
constexpr int kPanelVecs = static_cast<int>(kPanel) / W;
constexpr int kWide = W == 8 ? 2 : W == 4 ? 3 : 1;
static_assert(kPanel % W == 0);

TB_INLINE std::size_t panels_of(std::size_t d) { return (d + kPanel - 1) / kPanel; }

TB_INLINE void fetch_row(const RowPick& pick, std::size_t k) {
  const char* x = pick.from.x + static_cast<std::ptrdiff_t>(pick.row[k]) * pick.from.stride;
  const std::size_t bytes = pick.from.d * item_size(pick.from.dtype);
  for (std::size_t b = 0; b < bytes; b += 64) __builtin_prefetch(x + b);
}

// sums[m][...] += sum over rows of a[m] * b: a a panel, b `wide` panels, `missing value` numbers from one to the next.
template <int wide>
TB_INLINE void multiply(const double* a, const double* b, std::size_t panel_stride, std::size_t rows,
                        Vec (&sums)[kPanel][wide * kPanelVecs]) {
  for (std::size_t k = 0; k < rows; ++k, a += kPanel, b += kPanel) {
    Vec v[wide * kPanelVecs];
#pragma GCC unroll 8
    for (int q = 0; q < wide; ++q) {
#pragma GCC unroll 8
      for (int h = 0; h < kPanelVecs; ++h)
        v[q * kPanelVecs + h] = load(b + static_cast<std::size_t>(q) * panel_stride + h * W);
    }
#pragma GCC unroll 8
    for (std::size_t m = 0; m < kPanel; ++m) {
      const Vec x = set(a[m]);
#pragma GCC unroll 8
      for (int q = 0; q < wide * kPanelVecs; ++q) sums[m][q] += x * v[q];
    }
  }
}

// body(Wide<wide>{}) for 1 <= wide <= kWide.
template <int n>
struct Wide {
  static constexpr int value = n;
};
template <int most = kWide, class F>
TB_INLINE void with_wide(std::size_t wide, F&& body) {
  if constexpr (most > 1) {
    if (wide < most) return with_wide<most - 1>(wide, body);
  }
  body(Wide<most>{});
}

}  // namespace tb::TB_ISA
