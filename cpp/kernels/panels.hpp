// The shape of panels and tiles for this instruction set. Only for files in cpp/kernels.
//   panel: kPanel columns, kPanelVecs vectors of W        tile: kTileRows x kPanel sums of products in registers
// AVX2 has 16 registers: 4 x 3 sums, 3 vectors of one panel, one number of the other spread over a vector.
#pragma once
#include "kernels/scatter.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

constexpr int kPanelVecs = W == 4 ? 3 : 2;
constexpr int kTileRows = W == 8 ? 8 : 4;
constexpr std::size_t kPanel = static_cast<std::size_t>(kPanelVecs * W);
static_assert(kPanel % kTileRows == 0 && kTileRows % W == 0);

TB_INLINE std::size_t panels_of(std::size_t d) { return (d + kPanel - 1) / kPanel; }

TB_INLINE void fetch_row(const RowPick& pick, std::size_t k) {
  const char* x = pick.from.x + static_cast<std::ptrdiff_t>(pick.row[k]) * pick.from.stride;
  const std::size_t bytes = pick.from.d * item_size(pick.from.dtype);
  for (std::size_t b = 0; b < bytes; b += 64) __builtin_prefetch(x + b);
}

// sums[m][q] over rows of a[m] * b[q]: a points at the tile's first column in its panel, b at a panel.
template <int vecs>
TB_INLINE void multiply(const double* a, const double* b, std::size_t rows, Vec (&sums)[kTileRows][vecs]) {
  for (std::size_t k = 0; k < rows; ++k, a += kPanel, b += kPanel) {
    Vec v[vecs];
#pragma GCC unroll 8
    for (int q = 0; q < vecs; ++q) v[q] = load(b + q * W);
#pragma GCC unroll 8
    for (int m = 0; m < kTileRows; ++m) {
      const Vec x = set(a[m]);
#pragma GCC unroll 8
      for (int q = 0; q < vecs; ++q) sums[m][q] += x * v[q];
    }
  }
}

}  // namespace tb::TB_ISA
