#include "kernels/kernel_density.hpp"

#include <math.h>

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

TB_INLINE Vec some(const double* p, std::size_t m, double fill) {  // the last m < W doubles
  Vec v = set(fill);
  for (std::size_t i = 0; i < m; ++i) v[i] = p[i];
  return v;
}

TB_INLINE double total(Vec v) {
  double s = 0;
  for (int i = 0; i < W; ++i) s += v[i];
  return s;
}

// Positions relative to the nearest value. (u_i^2 - u_0^2) / 2 is taken as a product of two differences that
// are each exact or nearly so: far from all values it is what decides, and the squares would have lost it.
struct Frame {
  double half_x, half_near, two_over_h;
  TB_INLINE Vec offset(const Frame& f, Vec value) { return (value * 0.5 - f.half_near) * f.two_over_h; }
  TB_INLINE Vec exponent(const Frame& f, Vec value, Vec offset) {
    const Vec both = ((f.half_x - value * 0.5) + (f.half_x - f.half_near)) * f.two_over_h;
    return offset * both * 0.5;
  }
};

}  // namespace

double gauss_sum(const double* value, const double* weight, std::size_t m, double half_x, double half_near,
                 double two_over_h) {
  const Frame f{half_x, half_near, two_over_h};
  Vec sum{};
  std::size_t i = 0;
  for (; i + W <= m; i += W) {
    const Vec v = load(value + i);
    sum += load(weight + i) * exp_nonpositive(Frame::exponent(f, v, Frame::offset(f, v)));
  }
  if (i < m) {
    const Vec v = some(value + i, m - i, value[i]);
    sum += some(weight + i, m - i, 0.0) * exp_nonpositive(Frame::exponent(f, v, Frame::offset(f, v)));
  }
  return total(sum);
}

void gauss_moments(const double* value, const double* weight, std::size_t m, double half_centre, double half_near,
                   double two_over_h, double reach, double* share, Moments* out) {
  const Frame f{half_centre, half_near, two_over_h};
  Vec sum{}, first{};
  for (std::size_t i = 0; i < m; i += W) {
    const std::size_t n = m - i;
    const Vec v = n >= W ? load(value + i) : some(value + i, n, value[i]);
    const Vec w = n >= W ? load(weight + i) : some(weight + i, n, 0.0);
    const Vec e = Frame::offset(f, v);
    const Vec p = w * exp_nonpositive(Frame::exponent(f, v, e));
    store(share + i, p);
    sum += p;
    first += p * e;
  }
  out->sum = total(sum);
  out->mean = total(first) / out->sum;
  out->error = HUGE_VAL;
  const double low = (value[0] * 0.5 - half_near) * two_over_h - out->mean;
  const double high = (value[m - 1] * 0.5 - half_near) * two_over_h - out->mean;
  if (!(-low * reach < 300 && high * reach < 300)) return;  // shares too small for a double could still grow to matter

  Vec error{}, power[kDegree + 1] = {};
  for (std::size_t i = 0; i < m; i += W) {
    const std::size_t n = m - i;
    const Vec v = n >= W ? load(value + i) : some(value + i, n, value[i]);
    const Vec e = Frame::offset(f, v) - out->mean;
    Vec p = load(share + i) * e;
    for (int k = 2; k <= kDegree; ++k) power[k] += p *= e;
    const Vec size = pick(e < 0.0, -e, e) * reach;
    const Vec s2 = size * size, s4 = s2 * s2, s8 = s4 * s4;
    error += load(share + i) * (s8 * s4) * (s2 * size) / exp_nonpositive(-size);
  }
  double factorial = 1;
  for (int k = 2; k <= kDegree; ++k) out->q[k] = total(power[k]) / (factorial *= k) / out->sum;
  out->error = total(error) / (factorial * (kDegree + 1)) / out->sum;
}

std::size_t gauss_cells(const double* x, std::size_t rows, const double* edge, const double* cell, std::size_t cells,
                        double two_over_h, double* acc, unsigned* left) {
  std::size_t count = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const double* low = edge;  // the last edge <= x, without branches
    for (std::size_t n = cells; n > 1;) {
      const std::size_t half = n / 2;
      low = low[half] <= x[r] ? low + half : low;
      n -= half;
    }
    const double* k = cell + static_cast<std::size_t>(low - edge) * kCell;
    const double t = (x[r] * 0.5 - k[0] * 0.5) * two_over_h;
    if (!(t == t)) {  // x is NaN, or the cell has no centre
      left[count++] = static_cast<unsigned>(r);
      continue;
    }
    const double* q = k + 1;  // q[2] is the coefficient of t^2
    const double t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
    const double a = (q[2] + q[3] * t) + t2 * (q[4] + q[5] * t);
    const double b = (q[6] + q[7] * t) + t2 * (q[8] + q[9] * t);
    const double c = (q[10] + q[11] * t) + t2 * (q[12] + q[13] * t);
    acc[r] += k[1] + t * (k[2] - 0.5 * t) + log(1.0 + t2 * (a + t4 * b + t8 * (c + t4 * q[14])));
  }
  return count;
}

}  // namespace tb::TB_ISA
