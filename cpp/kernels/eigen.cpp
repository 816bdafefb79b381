// After tred2 and tql2 (Bowdler, Martin, Reinsch and Wilkinson, 1968). Row j of a is their column j.
#include "kernels/eigen.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr int kMostSteps = 60;

TB_INLINE Vec size_of(Vec x) { return pick(x < 0.0, -x, x); }
TB_INLINE Vec larger(Vec a, Vec b) { return pick(a < b, b, a); }
TB_INLINE Vec over(Vec a, Vec b) { return pick(b == 0.0, Vec{}, a / pick(b == 0.0, set(1.0), b)); }  // 0 / 0 = 0

struct Lanes {
  double* p;
  Vec operator[](std::size_t i) const { return load(p + i * W); }
  void set(std::size_t i, Vec v) const { store(p + i * W, v); }
};

struct Problem {
  double* a;
  std::size_t n;
  Lanes value, beside;  // the diagonal, and what stands below it
  Lanes row(std::size_t j) const { return {a + j * n * W}; }
};

// One Householder reflection takes row i out of the matrix before it.
TB_INLINE void reflect(const Problem& m, std::size_t i) {
  const Lanes d = m.value, e = m.beside;
  Vec h{};
  for (std::size_t k = 0; k < i; ++k) h += d[k] * d[k];
  h = pick(h > 0x1p-960, h, Vec{});  // below that 1 / h would be no number: nothing, beside a largest entry of 1
  const Vec f = d[i - 1], root = square_root(h), g = pick(f > 0.0, -root, root);
  h -= f * g;
  d.set(i - 1, f - g);
  for (std::size_t j = 0; j < i; ++j) e.set(j, Vec{});
  for (std::size_t j = 0; j < i; ++j) {
    const Lanes r = m.row(j);
    const Vec u = d[j];
    m.row(i).set(j, u);
    Vec sum = e[j] + r[j] * u;
    for (std::size_t k = j + 1; k < i; ++k) {
      sum += r[k] * d[k];
      e.set(k, e[k] + r[k] * u);
    }
    e.set(j, sum);
  }
  const Vec inverse = over(set(1.0), h);
  Vec along{};
  for (std::size_t j = 0; j < i; ++j) {
    e.set(j, e[j] * inverse);
    along += e[j] * d[j];
  }
  const Vec half = along * inverse * 0.5;
  for (std::size_t j = 0; j < i; ++j) e.set(j, e[j] - half * d[j]);
  for (std::size_t j = 0; j < i; ++j) {
    const Lanes r = m.row(j);
    const Vec u = d[j], v = e[j];
    for (std::size_t k = j; k < i; ++k) r.set(k, r[k] - (u * e[k] + v * d[k]));
    d.set(j, r[i - 1]);
    r.set(i, Vec{});
  }
  e.set(i, g);
  d.set(i, h);
}

// The product of all reflections, in the rows of a.
TB_INLINE void accumulate(const Problem& m) {
  const Lanes d = m.value;
  const std::size_t n = m.n;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const Lanes next = m.row(i + 1);
    m.row(i).set(n - 1, m.row(i)[i]);
    m.row(i).set(i, set(1.0));
    const Vec inverse = over(set(1.0), d[i + 1]);
    for (std::size_t k = 0; k <= i; ++k) d.set(k, next[k] * inverse);
    for (std::size_t j = 0; j <= i; ++j) {
      const Lanes r = m.row(j);
      Vec sum{};
      for (std::size_t k = 0; k <= i; ++k) sum += next[k] * r[k];
      for (std::size_t k = 0; k <= i; ++k) r.set(k, r[k] - sum * d[k]);
    }
    for (std::size_t k = 0; k <= i; ++k) next.set(k, Vec{});
  }
  for (std::size_t j = 0; j < n; ++j) {
    d.set(j, m.row(j)[n - 1]);
    m.row(j).set(n - 1, Vec{});
  }
  m.row(n - 1).set(n - 1, set(1.0));
}

// Rows i and i + 1 turned by an angle.
TB_INLINE void rotate(const Problem& m, std::size_t i, Vec c, Vec s) {
  const Lanes one = m.row(i), two = m.row(i + 1);
  for (std::size_t k = 0; k < m.n; ++k) {
    const Vec x = one[k], y = two[k];
    two.set(k, s * x + c * y);
    one.set(k, c * x - s * y);
  }
}

// One step of QL from row `last` up to row l, in the lanes that are not done; f: the shifts so far.
TB_INLINE void step(const Problem& m, std::size_t l, std::size_t last, Mask busy, Vec& f) {
  const Lanes d = m.value, e = m.beside;
  const Vec g = d[l], p0 = (d[l + 1] - g) / pick(busy, 2.0 * e[l], set(1.0));
  const Vec root = square_root(p0 * p0 + 1.0), turned = p0 + pick(p0 < 0.0, -root, root);
  const Vec first = e[l] / turned, second = e[l] * turned, h0 = pick(busy, g - first, Vec{});
  d.set(l, pick(busy, first, d[l]));
  d.set(l + 1, pick(busy, second, d[l + 1]));
  for (std::size_t i = l + 2; i < m.n; ++i) d.set(i, d[i] - h0);
  f += h0;
  const Vec after = e[l + 1];
  Vec p = d[last], c = set(1.0), c2 = c, c3 = c, s{}, s2{};
  for (std::size_t i = last; i-- > l;) {
    c3 = c2, c2 = c, s2 = s;
    const Vec old = d[i], off = e[i];
    const Vec along = c * off, across = c * p, r = square_root(p * p + off * off);
    e.set(i + 1, pick(busy, s * r, e[i + 1]));
    s = pick(busy, over(off, r), Vec{});
    c = pick(busy & (r != 0.0), p / pick(r == 0.0, set(1.0), r), set(1.0));
    p = c * old - s * along;
    d.set(i + 1, pick(busy, across + s * (c * along + s * old), d[i + 1]));
    rotate(m, i, c, s);
  }
  p = -s * s2 * c3 * after * over(e[l], pick(busy, second, set(1.0)));
  e.set(l, pick(busy, s * p, e[l]));
  d.set(l, pick(busy, c * p, d[l]));
}

TB_INLINE bool any(Mask m) {
  std::int64_t some = 0;
  for (int q = 0; q < W; ++q) some |= m[q];
  return some != 0;
}

bool solve(const Problem& m) {
  constexpr double eps = 0x1p-52;
  const Lanes d = m.value, e = m.beside;
  const std::size_t n = m.n;
  for (std::size_t i = 1; i < n; ++i) e.set(i - 1, e[i]);
  e.set(n - 1, Vec{});
  Vec f{}, most{};
  for (std::size_t l = 0; l < n; ++l) {
    most = larger(most, size_of(d[l]) + size_of(e[l]));
    const Vec none = most * eps;
    for (int steps = 0;; ++steps) {
      const Mask busy = size_of(e[l]) > none;
      if (!any(busy)) break;
      if (steps == kMostSteps) return false;
      std::size_t last = l + 1;  // the end of the block that row l belongs to, in the lane where it is longest
      while (last + 1 < n && any(busy & (size_of(e[last]) > none))) ++last;
      step(m, l, last, busy, f);
    }
    d.set(l, d[l] + f);
    e.set(l, Vec{});
  }
  return true;
}

}  // namespace

std::size_t eigen_lanes() { return W; }

bool eigen_of_lanes(double* a, std::size_t d, double* value, double* work) {
  if (d == 0) return true;
  const Problem m{a, d, {value}, {work}};
  Vec most{};  // the largest number becomes 1
  for (std::size_t i = 0; i < d * d; ++i) most = larger(most, size_of(load(a + i * W)));
  const Vec first = pick(most < 0x1p-900, set(0x1p120), set(1.0)), unit = over(set(1.0), most * first);
  for (std::size_t i = 0; i < d * d; ++i) store(a + i * W, load(a + i * W) * first * unit);
  for (std::size_t j = 0; j < d; ++j) m.value.set(j, m.row(j)[d - 1]);
  for (std::size_t i = d; --i > 0;) reflect(m, i);
  m.beside.set(0, Vec{});
  accumulate(m);
  const bool done = solve(m);
  for (std::size_t j = 0; j < d; ++j) m.value.set(j, m.value[j] * most);
  return done;
}

}  // namespace tb::TB_ISA
