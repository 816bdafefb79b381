// Vectors of doubles as wide as the instruction set this file is compiled for, and exp and log on them.
// Only for files in cpp/kernels (see core/runtime/dispatch.hpp): everything here is static.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if !defined(TB_ISA)
#error "cpp/kernels is compiled with -DTB_ISA=base|avx2|avx512"
#endif

#define TB_INLINE static inline __attribute__((always_inline))

namespace tb::TB_ISA {

#if defined(__AVX512F__)
constexpr int W = 8;
#elif defined(__AVX2__)
constexpr int W = 4;
#else
constexpr int W = 2;
#endif

typedef double Vec __attribute__((vector_size(W * 8)));
typedef double VecU __attribute__((vector_size(W * 8), aligned(8), may_alias));  // in memory, any address
typedef std::int64_t Mask __attribute__((vector_size(W * 8)));                   // all ones or all zeros per lane
typedef std::int64_t MaskU __attribute__((vector_size(W * 8), aligned(8), may_alias));

TB_INLINE Vec load(const double* p) { return *reinterpret_cast<const VecU*>(p); }
TB_INLINE void store(double* p, Vec v) { *reinterpret_cast<VecU*>(p) = v; }
TB_INLINE Vec set(double x) { return x - Vec{}; }
TB_INLINE Vec pick(Mask m, Vec yes, Vec no) {
  return reinterpret_cast<Vec>((m & reinterpret_cast<Mask>(yes)) | (~m & reinterpret_cast<Mask>(no)));
}

// Gives NaN below 0.
#if defined(__AVX512F__)
TB_INLINE Vec square_root(Vec x) {
  return reinterpret_cast<Vec>(_mm512_maskz_sqrt_pd(0xff, reinterpret_cast<__m512d>(x)));
}
#elif defined(__AVX2__)
TB_INLINE Vec square_root(Vec x) { return reinterpret_cast<Vec>(_mm256_sqrt_pd(reinterpret_cast<__m256d>(x))); }
#else
TB_INLINE Vec square_root(Vec x) {
  for (int q = 0; q < W; ++q) x[q] = __builtin_sqrt(x[q]);
  return x;
}
#endif

// exp(x) for x <= 0 (and -inf, giving 0) within 1.5 units in the last place; below about -708 the answer is 0.
// Cody and Waite's reduction, then Taylor to degree 13 on |r| <= log(2)/2.
TB_INLINE Vec exp_nonpositive(Vec x) {
  const Mask gone = x < -708.0;
  x = pick(gone, set(-708.0), x);
  const Vec shift = set(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to an integer
  const Vec k0 = x * 1.4426950408889634 + shift;
  const Vec k = k0 - shift;
  const Vec r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  Vec p = set(1.0 / 6227020800.0);
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const Mask bits = (reinterpret_cast<Mask>(k0) + 1023) << 52;  // 2^k: the low bits of k0 hold k
  return pick(gone, Vec{}, p * reinterpret_cast<Vec>(bits));
}

// log(x) for finite x >= 0 (0 gives -inf) within a unit in the last place: x = 2^k (1 + f) with 1 + f in
// [sqrt(1/2), sqrt(2)), then the odd series of atanh in f / (2 + f), with Ng's coefficients (fdlibm).
TB_INLINE Vec log_nonnegative(Vec x) {
  const Mask zero = x == 0.0, small = x < 0x1p-1022;
  const Vec full = pick(small, x * 0x1p54, x);
  const Mask bits = reinterpret_cast<Mask>(full);
  const Mask shifted =
      bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);  // carries into k where 1 + f would be too large
  const Mask k = ((shifted >> 52) & 0x7ff) - 1023 - (small & 54);
  const Vec power = reinterpret_cast<Vec>(k + 0x4338000000000000) - 6755399441055744.0;  // k as a double
  const Vec f = reinterpret_cast<Vec>((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  const Vec s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  Vec p = set(1.479819860511658591e-01);
  p = p * z + 1.531383769920937332e-01;
  p = p * z + 1.818357216161805012e-01;
  p = p * z + 2.222219843214978396e-01;
  p = p * z + 2.857142874366239149e-01;
  p = p * z + 3.999999999940941908e-01;
  p = p * z + 6.666666666666735130e-01;
  const Vec rest = half - (s * (half + p * z) + power * 1.90821492927058770002e-10);
  return pick(zero, set(-__builtin_inf()), power * 6.93147180369123816490e-01 - (rest - f));
}

}  // namespace tb::TB_ISA
