#include "kernels/stacking.hpp"

#include <cstring>

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr int F = 2 * W;  // floats in a vector
typedef float Floats __attribute__((vector_size(F * 4)));
typedef float FloatsU __attribute__((vector_size(F * 4), aligned(4), may_alias));
typedef float Half __attribute__((vector_size(W * 4)));
typedef float HalfU __attribute__((vector_size(W * 4), aligned(4), may_alias));

TB_INLINE Floats floats(const float* p) { return *reinterpret_cast<const FloatsU*>(p); }
TB_INLINE void put(float* p, Floats v) { *reinterpret_cast<FloatsU*>(p) = v; }
TB_INLINE Vec widen(const float* p) {
  return __builtin_convertvector(static_cast<Half>(*reinterpret_cast<const HalfU*>(p)), Vec);
}

TB_INLINE void narrow(float* p, Vec v) { *reinterpret_cast<HalfU*>(p) = __builtin_convertvector(v, Half); }

TB_INLINE double sum(Vec v) {
  double s = 0;
  for (int i = 0; i < W; ++i) s += v[i];
  return s;
}
TB_INLINE double sum(Floats v) {
  double s = 0;
  for (int i = 0; i < F; ++i) s += static_cast<double>(v[i]);
  return s;
}

// joint (+ step * move) of W rows, and the largest of it over the classes
template <bool moved>
TB_INLINE Vec at(const double* joint, const double* move, Vec step, std::size_t i) {
  return moved ? load(joint + i) + step * load(move + i) : load(joint + i);
}
template <bool moved>
TB_INLINE Vec largest(const WeightBlock& b, const double* move, Vec step, std::size_t r) {
  Vec top = at<moved>(b.joint, move, step, r);
  for (std::size_t c = 1; c < b.classes; ++c) {
    const Vec v = at<moved>(b.joint, move, step, c * b.rows + r);
    top = pick(v > top, v, top);
  }
  return top;
}

// P, w P, and how the classes split the variance of a term: with S_c the sum of P from class c on, and mean_c that of
// the classes from c on,
//   sum_c P_c (t_c - mean_0)^2 = sum over all but the last of P_c S_c+1 / S_c (t_c - mean_c+1)^2
// so that a class less is multiplied.
void shares(const WeightBlock& b, const WeightSums& o) {
  const std::size_t all = b.classes * b.rows;
  for (std::size_t r = 0; r < b.rows; r += W) {
    const Vec top = largest<false>(b, nullptr, Vec{}, r);
    Vec total{};
    for (std::size_t i = r; i < all; i += b.rows) {
      const Vec e = exp_nonpositive(load(b.joint + i) - top);
      store(o.share + i, e);
      total += e;
    }
    const Vec one = 1.0 / total, w = load(b.w + r);
    Vec rest{};
    for (std::size_t i = all - b.rows + r;; i -= b.rows) {
      const Vec p = load(o.share + i) * one, here = p + rest;
      const Vec below = 1.0 / pick(here > 0.0, here, set(1.0)), root = w * p * (rest * below);
      store(o.share + i, p);
      store(o.residual + i, w * p);
      narrow(o.weight + i, w * p);
      narrow(o.lean + i, p * below);
      // what is too small to matter would only make floats that are not normal, which are slow
      narrow(o.root + i, square_root(pick(root < 1e-30, Vec{}, root)));
      rest = here;
      if (i < b.rows) break;
    }
  }
}

void class_sums(const WeightBlock& b, const WeightSums& o) {
  for (std::size_t c = 0; c < b.classes; ++c) {
    const double* wp = o.residual + c * b.rows;  // not yet less [y]
    for (std::size_t e = 0; e <= c; ++e) {
      const double* p = o.share + e * b.rows;
      Vec both{}, alone{};
      for (std::size_t r = 0; r < b.rows; r += W) {
        both += load(wp + r) * load(p + r);
        alone += load(wp + r);
      }
      o.classes[c * b.classes + e] = (c == e ? sum(alone) : 0.0) - sum(both);
    }
  }
  for (std::size_t r = 0; r < b.rows; ++r) o.residual[static_cast<std::size_t>(b.y[r]) * b.rows + r] -= b.w[r];
  for (std::size_t c = 0; c < b.classes; ++c) {
    Vec s{};
    for (std::size_t r = 0; r < b.rows; r += W) s += load(o.residual + c * b.rows + r);
    o.gradient[b.terms + c] = sum(s);
  }
}

// The gradient of one term; its numbers as the classes split its variance; the second derivatives with the classes.
void term_sums(const WeightBlock& b, const WeightSums& o, std::size_t d) {
  const std::size_t last = (b.classes - 1) * b.rows, all = last + b.rows;
  const float* t = b.term + d * all;
  float* x = o.x + d * last;
  Vec even{}, odd{};
  for (std::size_t r = 0; r < b.rows; r += F) {
    Floats mean = floats(t + last + r);
    for (std::size_t i = last + r;;) {
      even += load(o.residual + i) * widen(t + i);
      odd += load(o.residual + i + W) * widen(t + i + W);
      if (i < b.rows) break;
      i -= b.rows;
      const Floats here = floats(t + i), lean = floats(o.lean + i);
      put(x + i, floats(o.root + i) * (here - mean));
      mean = (1.0f - lean) * mean + lean * here;
    }
    put(o.mean + r, mean);
  }
  o.gradient[d] = sum(even + odd);
  for (std::size_t c = 0; c < b.classes; ++c) {
    Floats s{};
    for (std::size_t r = 0; r < b.rows; r += F) {
      s += floats(o.weight + c * b.rows + r) * (floats(t + c * b.rows + r) - floats(o.mean + r));
    }
    o.across[d * b.classes + c] = sum(s);
  }
}

#if defined(__AVX2__)
typedef float Float8 __attribute__((vector_size(32)));

// Of eight vectors: out[i] has number i of each.
TB_INLINE void turn(Float8* x) {
  Float8 a[8], b[8];
#pragma GCC unroll 4
  for (int k = 0; k < 8; k += 2) {
    a[k] = __builtin_shufflevector(x[k], x[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    a[k + 1] = __builtin_shufflevector(x[k], x[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int k = 0; k < 8; k += 4) {
    b[k] = __builtin_shufflevector(a[k], a[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    b[k + 1] = __builtin_shufflevector(a[k], a[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    b[k + 2] = __builtin_shufflevector(a[k + 1], a[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    b[k + 3] = __builtin_shufflevector(a[k + 1], a[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    x[k] = __builtin_shufflevector(b[k], b[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    x[k + 4] = __builtin_shufflevector(b[k], b[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
#endif

// The sums of eight vectors, each from its first number to its last: side by side, where vectors are wide.
TB_INLINE void sums_of(const Floats* v, double* out) {
#if defined(__AVX2__)
  typedef double Double8 __attribute__((vector_size(64)));
  Double8 all{};
#pragma GCC unroll 2
  for (int first = 0; first < F; first += 8) {
    Float8 x[8];
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) std::memcpy(&x[k], reinterpret_cast<const char*>(&v[k]) + 4 * first, sizeof(Float8));
    turn(x);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) all += __builtin_convertvector(x[i], Double8);
  }
  std::memcpy(out, &all, sizeof all);
#else
  for (int k = 0; k < 8; ++k) out[k] = sum(v[k]);
#endif
}

// between[d + i][e + j] for a tile of kWeightTile x 2 terms.
void tile(const WeightSums& o, std::size_t all, std::size_t padded, std::size_t d, std::size_t e) {
  static_assert(kWeightTile == 4);
  Floats s[2 * kWeightTile];
#pragma GCC unroll 8
  for (Floats& each : s) each = Floats{};
  const float* a = o.x + d * all;
  const float* b = o.x + e * all;
  for (std::size_t i = 0; i < all; i += F) {
    const Floats u = floats(b + i), v = floats(b + all + i);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kWeightTile; ++k) {
      const Floats z = floats(a + k * all + i);
      s[2 * k] += z * u;
      s[2 * k + 1] += z * v;
    }
  }
  double all_of[2 * kWeightTile];
  sums_of(s, all_of);
  for (std::size_t k = 0; k < kWeightTile; ++k) std::memcpy(o.between + (d + k) * padded + e, all_of + 2 * k, 16);
}

}  // namespace

bool weight_pack(const float* from, std::size_t stride, const std::uint32_t* row, std::size_t count,
                 const std::uint8_t* open, std::size_t terms, std::size_t classes, std::size_t rows, float* to) {
  float wrong = 0.0f;  // becomes NaN when it meets one or an infinity
  for (std::size_t d = 0; d < terms; ++d, to += classes * rows) {
    for (std::size_t k = 0; k < count; ++k) {
      const float* t = from + d * stride + row[k] * classes;
      const std::uint8_t* may = open ? open + k * classes : nullptr;
      float top = -__builtin_inff();
      for (std::size_t c = 0; c < classes; ++c) {
        wrong += t[c] * 0.0f;
        top = t[c] > top && (!may || may[c]) ? t[c] : top;
      }
      for (std::size_t c = 0; c < classes; ++c) {
        const float less = t[c] - top;
        to[c * rows + k] = may && !may[c] ? 0.0f : less > -kWeightMost ? less : -kWeightMost;
      }
    }
    for (std::size_t c = 0; c < classes; ++c) {
      for (std::size_t k = count; k < rows; ++k) to[c * rows + k] = 0.0f;
    }
  }
  return wrong == 0.0f;
}

void weight_move(const WeightBlock& b, const double* v, const double* bias, double* out) {
  const std::size_t all = b.classes * b.rows;
  for (std::size_t c = 0; c < b.classes; ++c) {
    for (std::size_t r = 0; r < b.rows; ++r) out[c * b.rows + r] = bias[c];
  }
  std::size_t d = 0;
  for (; d + 4 <= b.terms; d += 4) {
    const float* t = b.term + d * all;
    const Vec v0 = set(v[d]), v1 = set(v[d + 1]), v2 = set(v[d + 2]), v3 = set(v[d + 3]);
    for (std::size_t i = 0; i < all; i += W) {
      const Vec first = v0 * widen(t + i) + v1 * widen(t + all + i);
      const Vec second = v2 * widen(t + 2 * all + i) + v3 * widen(t + 3 * all + i);
      store(out + i, load(out + i) + (first + second));
    }
  }
  for (; d < b.terms; ++d) {
    for (std::size_t i = 0; i < all; i += W) store(out + i, load(out + i) + v[d] * widen(b.term + d * all + i));
  }
}

void weight_terms(const float* term, std::size_t terms, std::size_t stride, std::size_t count, const double* v,
                  double* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = 0.0;
  for (std::size_t d = 0; d < terms; ++d) {
    const float* here = term + d * stride;
    for (std::size_t i = 0; i < count; ++i) out[i] += v[d] * static_cast<double>(here[i]);
  }
}

double weight_loss(const WeightBlock& b, const double* move, double step) {
  const Vec s = set(step);
  const std::size_t all = b.classes * b.rows;
  Vec loss{};
  for (std::size_t r = 0; r < b.rows; r += W) {
    const Vec top = largest<true>(b, move, s, r);
    Vec total{}, own;
    for (std::size_t i = r; i < all; i += b.rows) total += exp_nonpositive(at<true>(b.joint, move, s, i) - top);
    for (std::size_t k = 0; k < W; ++k) {
      const std::size_t i = static_cast<std::size_t>(b.y[r + k]) * b.rows + r + k;
      own[k] = b.joint[i] + step * move[i];
    }
    loss += load(b.w + r) * ((top - own) + log_nonnegative(total));
  }
  return sum(loss);
}

void weight_sums(const WeightBlock& b, const WeightSums& o) {
  shares(b, o);
  class_sums(b, o);
  for (std::size_t d = 0; d < b.terms; ++d) term_sums(b, o, d);
  const std::size_t padded = (b.terms + kWeightTile - 1) / kWeightTile * kWeightTile;
  for (std::size_t d = 0; d < padded; d += kWeightTile) {
    for (std::size_t e = 0; e < d + kWeightTile; e += 2) tile(o, (b.classes - 1) * b.rows, padded, d, e);
  }
}

// Rows k … of the triangle: once the rows above are taken off them, each is divided by the root of its first number.
void weight_solve(double* H, std::size_t stride, const double* whole, double* g, std::size_t n) {
  constexpr std::size_t kRows = 4;  // whose products are taken off all further rows together
  for (std::size_t k = 0; k < n; k += kRows) {
    const std::size_t end = k + kRows < n ? k + kRows : n;
    for (std::size_t i = k; i < end; ++i) {
      double* row = H + i * stride;
      for (std::size_t q = k; q < i; ++q) {
        const double* above = H + q * stride;
        const Vec f = set(above[i]);
        for (std::size_t j = i / W * W; j < n; j += W) store(row + j, load(row + j) - f * load(above + j));
      }
      const bool flat = !(row[i] > 1e-8 * whole[i]);  // H comes from floats: what is left is noise
      const double root = flat ? 1.0 : __builtin_sqrt(row[i]);
      const Vec one = set(1.0 / root);
      for (std::size_t j = i / W * W; j < n; j += W) store(row + j, flat ? Vec{} : load(row + j) * one);
      row[i] = root;
      g[i] = flat ? 0.0 : g[i];
    }
    for (std::size_t i = end; i < n; ++i) {
      double* row = H + i * stride;
      const double *a = H + k * stride, *b = a + stride, *c = b + stride, *d = c + stride;
      const Vec fa = set(a[i]), fb = set(b[i]), fc = set(c[i]), fd = set(d[i]);
      for (std::size_t j = i / W * W; j < n; j += W) {
        const Vec first = fa * load(a + j) + fb * load(b + j), second = fc * load(c + j) + fd * load(d + j);
        store(row + j, load(row + j) - (first + second));
      }
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    const double* row = H + k * stride;
    g[k] /= row[k];
    const Vec f = set(g[k]);
    std::size_t j = k + 1;
    for (; j < n && j % W; ++j) g[j] -= g[k] * row[j];
    for (; j < n; j += W) store(g + j, load(g + j) - f * load(row + j));
  }
  for (std::size_t j = n; j < stride; ++j) g[j] = 0.0;
  for (std::size_t k = n; k-- > 0;) {
    const double* row = H + k * stride;
    double alone = 0;
    std::size_t j = k + 1;
    for (; j < n && j % W; ++j) alone += g[j] * row[j];
    Vec s{};
    for (; j < n; j += W) s += load(g + j) * load(row + j);
    g[k] = (g[k] - (alone + sum(s))) / row[k];
  }
}

}  // namespace tb::TB_ISA
