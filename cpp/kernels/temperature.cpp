#include "kernels/temperature.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

TB_INLINE double sum(Vec v) {
  double s = 0;
  for (int i = 0; i < W; ++i) s += v[i];
  return s;
}

}  // namespace

void temperature_sums(const TemperatureRows& t, double beta, TemperatureSums& sums) {
  const Vec b = set(beta);
  const std::size_t all = t.classes * t.rows;
  Vec loss{}, mean{}, variance{};
  for (std::size_t r = 0; r < t.rows; r += W) {
    Vec top = load(t.own + r);  // its likelihood is 0
    for (std::size_t i = r; i < all; i += t.rows) {
      const Vec joint = load(t.prior + i) + b * load(t.more + i);
      top = pick(joint > top, joint, top);
    }
    Vec whole{}, first{}, second{};
    for (std::size_t i = r; i < all; i += t.rows) {
      const Vec more = load(t.more + i), e = exp_nonpositive(load(t.prior + i) + b * more - top);
      whole += e;
      first += e * more;
      second += e * more * more;
    }
    const Vec w = load(t.w + r), middle = first / whole, spread = second / whole - middle * middle;
    loss += w * (top - load(t.own + r) + log_nonnegative(whole));
    mean += w * middle;
    variance += w * pick(spread < 0.0, Vec{}, spread);
  }
  sums.loss += sum(loss);
  sums.mean += sum(mean);
  sums.variance += sum(variance);
}

}  // namespace tb::TB_ISA
