#include "kernels/pack.hpp"

#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

template <class T>
constexpr bool is_double = false;
template <>
constexpr bool is_double<double> = true;

constexpr std::size_t kRowsAtOnce = 64;  // their lines of `out` stay in the first-level cache meanwhile

template <class T>
void pack_as(const char* x, std::ptrdiff_t stride, std::size_t n, double* out, std::size_t step) {
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  if (stride == size && step == 1) {
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<double>(value<T>(x + i * sizeof(T)));
  } else if (stride == size) {
    for (std::size_t i = 0; i < n; ++i) out[i * step] = static_cast<double>(value<T>(x + i * sizeof(T)));
  } else {
    for (std::size_t i = 0; i < n; ++i)
      out[i * step] = static_cast<double>(value<T>(x + static_cast<std::ptrdiff_t>(i) * stride));
  }
}

// Element k of the two halves of an exchange of blocks of h: from a (k) or from b (W + k).
constexpr int low(int k, int h) { return (k & h) ? W + k - h : k; }
constexpr int high(int k, int h) { return (k & h) ? W + k : k + h; }

template <int h>
TB_INLINE void exchange(Vec& a, Vec& b) {
  const Vec x = a, y = b;
#if defined(__AVX512F__)
  a = __builtin_shufflevector(x, y, low(0, h), low(1, h), low(2, h), low(3, h), low(4, h), low(5, h), low(6, h),
                              low(7, h));
  b = __builtin_shufflevector(x, y, high(0, h), high(1, h), high(2, h), high(3, h), high(4, h), high(5, h), high(6, h),
                              high(7, h));
#elif defined(__AVX2__)
  a = __builtin_shufflevector(x, y, low(0, h), low(1, h), low(2, h), low(3, h));
  b = __builtin_shufflevector(x, y, high(0, h), high(1, h), high(2, h), high(3, h));
#else
  a = __builtin_shufflevector(x, y, low(0, h), low(1, h));
  b = __builtin_shufflevector(x, y, high(0, h), high(1, h));
#endif
}

// v as the rows of a square, turned into its columns: blocks of 1, 2, 4.. change places.
template <int h = 1>
TB_INLINE void transpose(Vec (&v)[W]) {
  for (int i = 0; i < W; ++i) {
    if (!(i & h)) exchange<h>(v[i], v[i + h]);
  }
  if constexpr (2 * h < W) transpose<2 * h>(v);
}

// W columns of T at once, each without missing values.
template <class T>
void pack_square(const Column* col, std::size_t begin, std::size_t n, double* out, std::size_t step) {
  double own[W][kRowsAtOnce];
  const char* x[W];
  for (int k = 0; k < W; ++k) {
    const char* from = col[k].data + begin * sizeof(T);
    for (std::size_t i = 0; i < kRowsAtOnce * sizeof(T); i += 64) {
      __builtin_prefetch(
          reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + kRowsAtOnce * sizeof(T) + i));
    }
    if constexpr (is_double<T>) {
      x[k] = from;
    } else {
      pack_as<T>(from, sizeof(T), n, own[k], 1);
      x[k] = reinterpret_cast<const char*>(own[k]);
    }
  }
  std::size_t i = 0;
  for (; i + W <= n; i += W) {
    Vec v[W];
    for (int k = 0; k < W; ++k) v[k] = value<Vec>(x[k] + i * sizeof(double));
    transpose(v);
    for (int r = 0; r < W; ++r) store(out + (i + r) * step, v[r]);
  }
  for (; i < n; ++i) {
    for (int k = 0; k < W; ++k) out[i * step + k] = value<double>(x[k] + i * sizeof(double));
  }
}

bool square(const Column* col) {
  for (int k = 0; k < W; ++k) {
    if (col[k].dtype != col[0].dtype || col[k].stride != static_cast<std::ptrdiff_t>(item_size(col[0].dtype)))
      return false;
  }
  return true;
}

void pack_columns(const Column* col, std::size_t begin, std::size_t n, double* out, std::size_t step) {
  TB_BY_TYPE(col[0].dtype, pack_square, col, begin, n, out, step)
}

}  // namespace

void pack(const char* x, std::ptrdiff_t stride, Dtype dtype, std::size_t n, double* out, std::size_t step) {
  TB_BY_TYPE(dtype, pack_as, x, stride, n, out, step)
}

void pack_block(const Columns& x, std::size_t begin, std::size_t end, double* out) {
  const auto at = [](const Column& c, std::size_t i) { return c.data + static_cast<std::ptrdiff_t>(i) * c.stride; };
  if (x.row_major) {
    const Dtype t = x.col[0].dtype;
    for (std::size_t i = begin; i < end; ++i) {
      pack(at(x.col[0], i), static_cast<std::ptrdiff_t>(item_size(t)), t, x.d, out + (i - begin) * x.d, 1);
    }
    return;
  }
  for (std::size_t i = begin; i < end; i += kRowsAtOnce) {
    const std::size_t n = end - i < kRowsAtOnce ? end - i : kRowsAtOnce;
    double* to = out + (i - begin) * x.d;
    std::size_t j = 0;
    while (j < x.d) {
      if (j + W <= x.d && square(x.col + j)) {
        pack_columns(x.col + j, i, n, to + j, x.d);
        j += W;
      } else {
        pack(at(x.col[j], i), x.col[j].stride, x.col[j].dtype, n, to + j, x.d);
        ++j;
      }
    }
  }
}

}  // namespace tb::TB_ISA
