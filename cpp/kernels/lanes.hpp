// Sums over rows of a (terms, classes) table: the classes lie side by side in vectors, n of them at a time.
// Only for files in cpp/kernels: everything here is static.
#pragma once
#include "kernels/simd.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kLanes = 6 * W;  // classes in registers at once

// Which lanes of the last vector are classes: the table's last row may end where the memory does.
#if defined(__AVX512F__)
using Tail = __mmask8;
TB_INLINE Tail tail_of(std::size_t lanes) { return static_cast<Tail>((1u << lanes) - 1); }
TB_INLINE Vec load_tail(const double* p, Tail t) { return reinterpret_cast<Vec>(_mm512_maskz_loadu_pd(t, p)); }
TB_INLINE void store_tail(double* p, Tail t, Vec v) { _mm512_mask_storeu_pd(p, t, reinterpret_cast<__m512d>(v)); }
#elif defined(__AVX2__)
using Tail = __m256i;
TB_INLINE Tail tail_of(std::size_t lanes) {
  const auto k = static_cast<long long>(lanes);
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(k), _mm256_set_epi64x(3, 2, 1, 0));
}
TB_INLINE Vec load_tail(const double* p, Tail t) { return reinterpret_cast<Vec>(_mm256_maskload_pd(p, t)); }
TB_INLINE void store_tail(double* p, Tail t, Vec v) { _mm256_maskstore_pd(p, t, reinterpret_cast<__m256d>(v)); }
#else
using Tail = std::size_t;
TB_INLINE Tail tail_of(std::size_t lanes) { return lanes; }
TB_INLINE Vec load_tail(const double* p, Tail t) { return t == 2 ? load(p) : Vec{p[0], 0.0}; }
TB_INLINE void store_tail(double* p, Tail t, Vec v) {
  for (std::size_t k = 0; k < t; ++k) p[k] = v[k];
}
#endif

// f(Vectors<n>{}) for n = ceil(classes / W) in [1, 6].
template <int n>
struct Vectors {
  static constexpr int value = n;
};
template <class F>
TB_INLINE void with_vectors(std::size_t classes, F&& f) {
  switch ((classes + W - 1) / W) {
    case 1:
      return f(Vectors<1>{});
    case 2:
      return f(Vectors<2>{});
    case 3:
      return f(Vectors<3>{});
    case 4:
      return f(Vectors<4>{});
    case 5:
      return f(Vectors<5>{});
    default:
      return f(Vectors<6>{});
  }
}

}  // namespace
}  // namespace tb::TB_ISA
