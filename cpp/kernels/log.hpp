// Logarithms on vectors. Only for files in cpp/kernels.
#pragma once
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

// log u for u > 0 (normal numbers), within 2 units in the last place (fdlibm's series): u = 2^k (1 + f), |f| < 0.42,
// s = f / (2 + f), log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)). less: u - 1, which may have more digits than u.
TB_INLINE Vec log_all(Vec u, Vec less) {
  const Mask bits = reinterpret_cast<Mask>(u);
  const Mask k = (bits - 0x3fe6a09e667f3bcd) >> 52;  // the bits of sqrt(1/2)
  const Vec f = pick(k == 0, less, reinterpret_cast<Vec>(bits - (k << 52)) - 1.0);
  const double shift = 6755399441055744.0;  // 1.5 * 2^52: an integer added to its bits is added to the number
  const Vec exponent = reinterpret_cast<Vec>(k + reinterpret_cast<Mask>(set(shift))) - shift;
  const Vec s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  Vec r = set(1.479819860511658591e-01);
  r = r * z + 1.531383769920937332e-01;
  r = r * z + 1.818357216161805012e-01;
  r = r * z + 2.222219843214978396e-01;
  r = r * z + 2.857142874366239149e-01;
  r = r * z + 3.999999999940941908e-01;
  r = r * z + 6.666666666666735130e-01;
  return exponent * 6.93147180369123816490e-01 +
         (f - (half - (s * (half + r * z) + exponent * 1.90821492927058770002e-10)));
}

TB_INLINE Vec log_all(Vec u) { return log_all(u, u - 1.0); }
TB_INLINE Vec log1p_all(Vec x) { return log_all(1.0 + x, x); }  // for x > -1

}  // namespace tb::TB_ISA
