#include "kernels/pack.hpp"

#include "kernels/typed.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kRowsAtOnce = 64;  // their lines of `out` stay in the first-level cache meanwhile

template <class T>
void pack_as(const char* x, std::ptrdiff_t stride, std::size_t n, double* out, std::size_t step) {
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  if (stride == size && step == 1) {
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<double>(value<T>(x + i * sizeof(T)));
  } else if (stride == size) {
    for (std::size_t i = 0; i < n; ++i) out[i * step] = static_cast<double>(value<T>(x + i * sizeof(T)));
  } else {
    for (std::size_t i = 0; i < n; ++i) out[i * step] = static_cast<double>(value<T>(x + static_cast<std::ptrdiff_t>(i) * stride));
  }
}

// v as the rows of a square, turned into its columns: at each stage, halves of blocks change places.
TB_INLINE void transpose(Vec (&v)[W]) {
  for (int h = 1; h < W; h *= 2) {
    Mask low, high;
    for (int k = 0; k < W; ++k) {
      low[k] = (k & h) ? W + k - h : k;
      high[k] = (k & h) ? W + k : k + h;
    }
    for (int i = 0; i < W; ++i) {
      if (i & h) continue;
      const Vec a = v[i], b = v[i + h];
      v[i] = __builtin_shuffle(a, b, low);
      v[i + h] = __builtin_shuffle(a, b, high);
    }
  }
}

// W columns of T at once, each without gaps.
template <class T>
void pack_square(const Column* col, std::size_t begin, std::size_t n, double* out, std::size_t step) {
  const char* x[W];
  for (int k = 0; k < W; ++k) x[k] = col[k].data + begin * sizeof(T);
  std::size_t i = 0;
  for (; i + W <= n; i += W) {
    Vec v[W];
    for (int k = 0; k < W; ++k) {
      T t __attribute__((vector_size(W * sizeof(T))));
      std::memcpy(&t, x[k] + i * sizeof(T), sizeof t);
      if constexpr (sizeof(T) < 4) {  // by way of int: bytes have no direct instruction
        typedef std::int32_t Ints __attribute__((vector_size(W * 4)));
        v[k] = __builtin_convertvector(__builtin_convertvector(t, Ints), Vec);
      } else {
        v[k] = __builtin_convertvector(t, Vec);
      }
      __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(x[k]) + (i + kRowsAtOnce) * sizeof(T)));
    }
    transpose(v);
    for (int r = 0; r < W; ++r) store(out + (i + r) * step, v[r]);
  }
  for (; i < n; ++i) {
    for (int k = 0; k < W; ++k) out[i * step + k] = static_cast<double>(value<T>(x[k] + i * sizeof(T)));
  }
}

bool square(const Column* col) {
  for (int k = 0; k < W; ++k) {
    if (col[k].dtype != col[0].dtype || col[k].stride != static_cast<std::ptrdiff_t>(item_size(col[0].dtype))) return false;
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
