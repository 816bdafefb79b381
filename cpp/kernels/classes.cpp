#include "kernels/classes.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {

void count_classes(const std::int32_t* y, std::size_t n, std::size_t classes, std::uint32_t* count) {
  constexpr std::size_t kTile = 4096;  // stays in the first-level cache while each class is looked for
  for (std::size_t begin = 0; begin < n; begin += kTile) {
    const std::size_t end = n - begin < kTile ? n : begin + kTile;
    for (std::size_t c = 0; c < classes; ++c) {
      const auto code = static_cast<std::int32_t>(c);
      std::uint32_t found = 0;
      for (std::size_t i = begin; i < end; ++i) found += y[i] == code;
      count[c] += found;
    }
  }
}

std::size_t list_class(const std::int32_t* y, std::size_t n, std::int32_t c, std::uint32_t* row) {
  std::size_t m = 0, i = 0;
#if defined(__AVX512F__)
  const __m512i code = _mm512_set1_epi32(c), step = _mm512_set1_epi32(16);
  __m512i here = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (; i + 16 <= n; i += 16, here = _mm512_add_epi32(here, step)) {
    const __mmask16 found = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(y + i), code);
    _mm512_storeu_si512(row + m, _mm512_maskz_compress_epi32(found, here));
    m += static_cast<std::size_t>(__builtin_popcount(found));
  }
#endif
  for (; i < n; ++i) {  // without a branch, which nobody could foresee
    row[m] = static_cast<std::uint32_t>(i);
    m += y[i] == c;
  }
  return m;
}

}  // namespace tb::TB_ISA
