#include "kernels/leave_one_out.hpp"

#include "kernels/lane_groups.hpp"
#include "kernels/log.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kGroups = kRows / kGroup;
constexpr double kMinDeterminant = 1e-12;  // of h: what is left of a covariance in the direction of the row

// Single precision: a group of rows in kVecs / 2 vectors.
typedef float Half __attribute__((vector_size(W * 4)));
typedef float Floats __attribute__((vector_size(W * 8)));
typedef float FloatsU __attribute__((vector_size(W * 8), aligned(4), may_alias));
typedef float HalfU __attribute__((vector_size(W * 4), aligned(4), may_alias));
constexpr int kFloatVecs = kVecs / 2;
constexpr int kFloatForms = 12;

TB_INLINE void store_single(float* p, Vec v) { *reinterpret_cast<HalfU*>(p) = __builtin_convertvector(v, Half); }
TB_INLINE Vec load_single(const float* p) {
  return __builtin_convertvector(Half(*reinterpret_cast<const HalfU*>(p)), Vec);
}

// out[m * kGroup + ...] = sum over j of a[m * d + j] x_j in single precision.
template <int forms>
TB_INLINE void multiply_single(const float* a, std::size_t d, const float* x, float* out) {
  Floats sums[forms][kFloatVecs] = {};
  for (std::size_t j = 0; j < d; ++j, x += kGroup) {
    Floats v[kFloatVecs];
#pragma GCC unroll 2
    for (int q = 0; q < kFloatVecs; ++q) v[q] = *reinterpret_cast<const FloatsU*>(x + q * 2 * W);
#pragma GCC unroll 12
    for (int m = 0; m < forms; ++m) {
      const Floats f = a[static_cast<std::size_t>(m) * d + j] - Floats{};
#pragma GCC unroll 2
      for (int q = 0; q < kFloatVecs; ++q) sums[m][q] += f * v[q];
    }
  }
  for (int m = 0; m < forms; ++m) {
    for (int q = 0; q < kFloatVecs; ++q)
      *reinterpret_cast<FloatsU*>(out + m * static_cast<int>(kGroup) + q * 2 * W) = sums[m][q];
  }
}

template <int forms = kFloatForms>
TB_INLINE void multiply_some(std::size_t count, const float* a, std::size_t d, const float* x, float* out) {
  if (count == forms)
    multiply_single<forms>(a, d, x, out);
  else if constexpr (forms > 1)
    multiply_some<forms - 1>(count, a, d, x, out);
}

// body(m, sums of form m) for m < count.
template <class F>
TB_INLINE void by_single_forms(const float* a, std::size_t count, std::size_t d, const float* x, F&& body) {
  float sums[kFloatForms * kGroup];
  std::size_t m = 0;
  for (std::size_t steps = (count + kFloatForms - 1) / kFloatForms; steps > 0; --steps) {
    const std::size_t forms = (count - m) / steps;
    multiply_some(forms, a + m * d, d, x, sums);
    for (std::size_t f = 0; f < forms; ++f, ++m) body(m, sums + f * kGroup);
  }
}

// Vector e of one place, to all that is wanted of it.
TB_INLINE void put_squares(Vec e, Vec shift, std::size_t to, const Turned& out) {
  const Vec ee = e * e, z = e + shift, zz = z * z;
  if (out.e) store(out.e + to, e);
  if (out.ee) store(out.ee + to, ee);
  if (out.ee32) store_single(out.ee32 + to, ee);
  if (out.zz) store(out.zz + to, zz);
  if (out.zz32) store_single(out.zz32 + to, zz);
}

template <int forms>
TB_INLINE void turn_forms(const double* x, std::size_t d, const double* vector, std::size_t i, double scale,
                          const double* shift, std::size_t at, const Turned& out) {
  Vec sums[forms][kVecs] = {};
  multiply<forms>(vector + i * d, d, d, x, sums);
#pragma GCC unroll 8
  for (int m = 0; m < forms; ++m) {
    const std::size_t j = i + static_cast<std::size_t>(m);
    const Vec more = set(shift ? shift[j] : 0.0);
#pragma GCC unroll 8
    for (int q = 0; q < kVecs; ++q)
      put_squares(sums[m][q] * scale, more, at + j * kGroup + static_cast<std::size_t>(q * W), out);
  }
}

// body(j, lanes) for vectors of columns that cover 0 .. d - 1, the last one back from the end: what is written twice is
// the same. Fewer columns than lanes go one by one.
template <class F>
TB_INLINE void by_columns(std::size_t d, F&& body) {
  if (d < W) {
    for (std::size_t j = 0; j < d; ++j) body.template operator()<double>(j);
    return;
  }
  std::size_t j = 0;
  for (; j + W <= d; j += W) body.template operator()<Vec>(j);
  if (j < d) body.template operator()<Vec>(d - W);
}

TB_INLINE void read(const double* p, double& x) { x = *p; }
TB_INLINE void read(const double* p, Vec& x) { x = load(p); }
TB_INLINE void write(double* p, double x) { *p = x; }
TB_INLINE void write(double* p, Vec x) { store(p, x); }
TB_INLINE void write(float* p, double x) { *p = static_cast<float>(x); }
TB_INLINE void write(float* p, Vec x) { store_single(p, x); }
TB_INLINE double at_least_0(double x, double inverse) { return x > 0.0 ? inverse : 0.0; }
TB_INLINE Vec at_least_0(Vec x, Vec inverse) { return pick(x > 0.0, inverse, Vec{}); }

TB_INLINE Vec load_any(const double* p) { return load(p); }
TB_INLINE Vec load_any(const float* p) { return load_single(p); }

template <class T>
TB_INLINE double dot(const T* a, const double* b, std::size_t d) {
  Vec sum{};
  std::size_t j = 0;
  for (; j + W <= d; j += W) sum += load_any(a + j) * load(b + j);
  double lane[W], total = 0.0;
  store(lane, sum);
  for (; j < d; ++j) total += static_cast<double>(a[j]) * b[j];
  for (int q = 0; q < W; ++q) total += lane[q];
  return total;
}

TB_INLINE bool all(Mask m) {
  std::int64_t every = -1;
  for (int q = 0; q < W; ++q) every &= m[q];
  return every != 0;
}

}  // namespace

Levels row_levels(double trace, double share, double per, const double* step, const double* size, double* b,
                  double* delta) {
  Vec low = set(__builtin_inf()), high = -low;
  for (std::size_t r = 0; r < kRows; r += W) {
    const Vec own = load(step + r) * share, m = (trace - own * load(size + r)) * per;
    store(b + r, own);
    store(delta + r, m);
    low = pick(m < low, m, low);
    high = pick(m > high, m, high);
  }
  Levels out{low[0], high[0], 1.0};
  for (int q = 1; q < W; ++q) {
    if (low[q] < out.low) out.low = low[q];
    if (high[q] > out.high) out.high = high[q];
  }
  const double middle = out.low / 2 + out.high / 2;
  if (middle > 0.0) out.middle = middle;
  const Vec unit = set(1.0 / out.middle);
  for (std::size_t r = 0; r < kRows; r += W) store(delta + r, (load(delta + r) - out.middle) * unit);
  return out;
}

void turn_one(const double* x, std::size_t d, const double* vector, double* t) {
  for (std::size_t i = 0; i < d; ++i) t[i] = dot(vector + i * d, x, d);
}

void turn_rows(const double* lanes, std::size_t d, const double* vector, double scale, const double* shift,
               const Turned& out) {
  by_forms(d, [&]<int forms>(std::size_t i) {  // these vectors stay in cache for all groups
    for (std::size_t g = 0; g < kGroups; ++g) {
      turn_forms<forms>(lanes + g * d * kGroup, d, vector, i, scale, shift, g * d * kGroup, out);
    }
  });
}

void shift_rows(std::size_t d, const double* shift, const Turned& rows) {
  const Turned out{nullptr, nullptr, rows.zz, nullptr, rows.zz32};
  for (std::size_t g = 0; g < kGroups; ++g) {
    for (std::size_t j = 0; j < d; ++j) {
      const Vec more = set(shift ? shift[j] : 0.0);
      for (int q = 0; q < kVecs; ++q) {
        const std::size_t at = (g * d + j) * kGroup + static_cast<std::size_t>(q * W);
        put_squares(load(rows.e + at), more, at, out);
      }
    }
  }
}

void fill_series(const double* variance, const double* gamma, const Series& inverse) {
  const std::size_t d = inverse.d, still = inverse.gammas - inverse.moving;
  for (std::size_t g = 0; g < inverse.gammas; ++g) {
    const std::size_t orders = g < still ? 0 : inverse.orders;
    double* value = inverse.value + g * d;
    float *single = inverse.value32 + g * d, *change = inverse.change + (g - still) * d;
    by_columns(d, [&]<class V>(std::size_t j) {
      V v;
      read(variance + j, v);
      v = (1.0 - gamma[g]) * v + gamma[g];
      v = at_least_0(v, 1.0 / v);  // the caller knows which gammas leave no full rank
      write(value + j, v);
      write(single + j, v);
      const V factor = -gamma[g] * v;
      for (std::size_t o = 0; o < orders; ++o) {
        v *= factor;
        write(change + o * inverse.moving * d + j, v);
      }
    });
    inverse.drift[g] = orders > 0 ? dot(change, variance, d) / dot(value, variance, d) : 0.0;
  }
}

void shift_series(const double* shift, const Series& inverse, double* square, double* out) {
  const std::size_t d = inverse.d, still = inverse.gammas - inverse.moving;
  for (std::size_t j = 0; j < d; ++j) square[j] = shift[j] * shift[j];
  for (std::size_t g = 0; g < inverse.gammas; ++g) {
    out[g] = dot(inverse.value + g * d, square, d);
    for (std::size_t o = 0; o < inverse.orders; ++o) {
      const float* change = inverse.change + (o * inverse.moving + g - still) * d;
      out[(o + 1) * inverse.gammas + g] = g < still ? 0.0 : dot(change, square, d);
    }
  }
}

void evaluate(const double* coefficient, std::size_t terms, std::size_t gammas, const double* delta, double* out) {
  for (std::size_t g = 0; g < gammas; ++g) {
    for (std::size_t r = 0; r < kRows; r += W) {
      Vec sum = set(coefficient[(terms - 1) * gammas + g]);
      const Vec x = load(delta + r);
      for (std::size_t o = terms - 1; o-- > 0;) sum = sum * x + coefficient[o * gammas + g];
      store(out + g * kRows + r, sum);
    }
  }
}

void add_series(const double* x, const float* x32, const Series& s, const double* delta, double* out) {
  const std::size_t still = s.gammas - s.moving;
  by_forms(s.gammas, [&]<int forms>(std::size_t g0) {
    for (std::size_t g = 0; g < kGroups; ++g) {
      Vec sums[forms][kVecs] = {};
      multiply<forms>(s.value + g0 * s.d, s.d, s.d, x + g * s.d * kGroup, sums);
      for (int m = 0; m < forms; ++m) {
        double* to = out + (g0 + static_cast<std::size_t>(m)) * kRows + g * kGroup;
        for (int q = 0; q < kVecs; ++q) store(to + q * W, sums[m][q]);
      }
    }
  });
  for (std::size_t g = 0; g < kGroups; ++g) {
    Vec power[kVecs];
    for (int q = 0; q < kVecs; ++q) power[q] = set(1.0);
    for (std::size_t o = 0; o < s.orders; ++o) {
      for (int q = 0; q < kVecs; ++q) power[q] *= load(delta + g * kGroup + static_cast<std::size_t>(q * W));
      by_single_forms(s.change + o * s.moving * s.d, s.moving, s.d, x32 + g * s.d * kGroup,
                      [&](std::size_t m, const float* sums) {
                        double* to = out + (still + m) * kRows + g * kGroup;
                        for (int q = 0; q < kVecs; ++q)
                          store(to + q * W, load(to + q * W) + power[q] * load_single(sums + q * W));
                      });
    }
  }
}

void add_coarse(const float* x32, const Series& s, const double* delta, double* out) {
  for (std::size_t g = 0; g < kGroups; ++g) {
    by_single_forms(s.value32, s.gammas, s.d, x32 + g * s.d * kGroup, [&](std::size_t m, const float* sums) {
      for (int q = 0; q < kVecs; ++q) {
        const std::size_t r = g * kGroup + static_cast<std::size_t>(q * W);
        store(out + m * kRows + r, load_single(sums + q * W) * (1.0 + s.drift[m] * load(delta + r)));
      }
    });
  }
}

void divide_rows(const double* e, std::size_t d, const double* variance, std::size_t gammas, const double* gamma,
                 const double* shift, const double* delta, double* ee, double* zz, double* ss, double* log_det) {
  constexpr std::size_t factors = 8;  // at full rank each is between 1e-16 and d + 1: their product stays in range
  for (std::size_t g = 0; g < gammas; ++g) {
    for (std::size_t r = 0; r < kRows; r += W) {
      const Vec level = gamma[g] * (1.0 + load(delta + r));
      const std::size_t at = r / kGroup * d * kGroup + r % kGroup;
      Vec own{}, other{}, apart{}, logs{}, product = set(1.0);
      for (std::size_t j = 0; j < d; ++j) {
        const Vec G = (1.0 - gamma[g]) * variance[j] + level, t = load(e + at + j * kGroup);
        const Vec inverse = pick(G > 0.0, 1.0 / G, Vec{});
        own += t * t * inverse;
        if (shift) {
          const Vec z = t + shift[j];
          other += z * z * inverse;
          apart += shift[j] * shift[j] * inverse;
        }
        product *= G;
        if (j % factors == factors - 1 || j + 1 == d) {
          logs += log_all(product);
          product = set(1.0);
        }
      }
      const std::size_t to = g * kRows + r;
      store(log_det + to, logs);
      store(zz + to, shift ? other : own);
      if (shift) {
        store(ee + to, own);
        store(ss + to, apart);
      }
    }
  }
}

void leave_one_out_scores(std::size_t gammas, const double* gamma, const double* b, const double* grow,
                          const double* prior, const double* zz, const double* ee, const double* ss,
                          const double* log_det, double* score, double* root) {
  for (std::size_t g = 0; g < gammas; ++g) {
    for (std::size_t r = 0; r < kRows; r += W) {
      const std::size_t at = g * kRows + r;
      const Vec other = load(zz + at), own = ee ? load(ee + at) : other;
      const Vec beta = (1.0 - gamma[g]) * load(b + r), h = 1.0 - beta * own;
      const Vec y = 1.0 / square_root(pick(h > kMinDeterminant, h, set(__builtin_nan(""))));
      Vec distance;
      if (ee) {
        const Vec both = 0.5 * (other + own - load(ss + at)) * y;  // z' G^-1 e, from |z|^2, |e|^2 and |z - e|^2
        distance = other + beta * both * both;
      } else {
        const Vec far = load(grow + r) * y;
        distance = far * far * own;
      }
      store(score + at, load(prior + r) - 0.5 * (load(log_det + at) + distance));
      store(root + at, y);
    }
  }
}

void add_losses(const double* score, const double* root, std::size_t classes, std::size_t own, std::size_t gammas,
                const double* weight, double* loss) {
  constexpr int n = 2;  // vectors at a time: the steps of an exponential wait for each other
  static_assert(kRows % (n * W) == 0);
  const std::size_t step = gammas * kRows;
  for (std::size_t g = 0; g < gammas; ++g) {
    Vec total{};
    for (std::size_t r = 0; r < kRows; r += n * W) {
      const double *s = score + g * kRows + r, *y = root + g * kRows + r;
      Vec top[n], rest[n] = {};
      for (int q = 0; q < n; ++q) top[q] = load(s + own * step + q * W);
      for (std::size_t c = 0; c < classes; ++c) {
        for (int q = 0; q < n; ++q) {
          const Vec v = load(s + c * step + q * W);
          top[q] = pick(v > top[q], v, top[q]);
        }
      }
      for (std::size_t c = 0; c < classes; ++c) {
        if (c == own) continue;
        Vec e[n];
        for (int q = 0; q < n; ++q) e[q] = exp_nonpositive(load(s + c * step + q * W) - top[q]);
        for (int q = 0; q < n; ++q) rest[q] += e[q] * load(y + c * step + q * W);
      }
      for (int q = 0; q < n; ++q) {  // log(1 + rest / own) where own is the top, so that small losses keep their digits
        const Vec mine = load(s + own * step + q * W), my_root = load(y + own * step + q * W), below = mine - top[q];
        const Mask best = mine == top[q];
        Vec ratio = rest[q];
        if (!all(best)) ratio += pick(best, Vec{}, exp_nonpositive(below) * my_root - my_root);
        total += load(weight + r + static_cast<std::size_t>(q * W)) *
                 (log1p_all(ratio / my_root) - pick(best, Vec{}, below));
      }
    }
    double lane[W];
    store(lane, total);
    for (int q = 0; q < W; ++q) loss[g] += lane[q];
  }
}

}  // namespace tb::TB_ISA
