#include "kernels/logs.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

TB_INLINE Vec log_of(Vec x) { return pick(x < __builtin_inf(), log_nonnegative(x), x); }

}  // namespace

void logs(const double* x, std::size_t n, double* out) {
  std::size_t i = 0;
  for (; i + W <= n; i += W) store(out + i, log_of(load(x + i)));
  if (i == n) return;
  Vec v{};
  for (std::size_t k = 0; k < n - i; ++k) v[k] = x[i + k];
  v = log_of(v);
  for (std::size_t k = 0; k < n - i; ++k) out[i + k] = v[k];
}

}  // namespace tb::TB_ISA
