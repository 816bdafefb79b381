#include "kernels/logs.hpp"

#include "kernels/lanes.hpp"

namespace tb::TB_ISA {
namespace {

TB_INLINE Vec log_of(Vec x) {
  const Mask finite = x < __builtin_inf();  // what is not would overflow in the exponent's arithmetic
  return pick(finite, log_nonnegative(pick(finite, x, set(1.0))), x);
}

TB_INLINE Vec log_of_positive(Vec x) {
  const Vec none = pick(x == -__builtin_inf(), x, set(__builtin_nan("")));
  return pick(x > 0.0, log_of(x), none);
}

template <Vec (*f)(Vec)>
TB_INLINE void each(const double* x, std::size_t n, double* out) {
  std::size_t i = 0;
  for (; i + W <= n; i += W) store(out + i, f(load(x + i)));
  if (i == n) return;
  const Tail rest = tail_of(n - i);  // zeros beyond it
  store_tail(out + i, rest, f(load_tail(x + i, rest)));
}

}  // namespace

void logs(const double* x, std::size_t n, double* out) { each<log_of>(x, n, out); }

void logs_of_positive(const double* x, std::size_t n, double* out) { each<log_of_positive>(x, n, out); }

}  // namespace tb::TB_ISA
