#include "kernels/corrections.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {

void correct_rows(const CorrectionRows& t) {
  const std::size_t all = t.classes * t.rows;
  const Vec step = set(t.step);
  for (std::size_t r = 0; r < t.rows; r += W) {
    Vec top = set(-__builtin_inf());
    for (std::size_t i = r; i < all; i += t.rows) {
      const Vec here = load(t.joint + i) + step * log_nonnegative(load(t.up + i) / load(t.down + i));
      store(t.to + i, here);
      top = pick(here > top, here, top);
    }
    Vec sum{};
    for (std::size_t i = r; i < all; i += t.rows) {
      const Vec e = exp_nonpositive(load(t.to + i) - top);
      store(t.share + i, e);
      sum += e;
    }
    const Vec one = 1.0 / sum;
    for (std::size_t i = r; i < all; i += t.rows) store(t.share + i, load(t.share + i) * one);
    store(t.whole + r, top + log_nonnegative(sum));
  }
}

}  // namespace tb::TB_ISA
