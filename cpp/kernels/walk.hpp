// Walks over a RowList and lets an Op add each row to the accumulators of its slot.
// The accumulators of a slot are Op::fields arrays of padded(d) doubles. The columns lie in them as the
// vectors read them: vector v holds columns v*W.., except the last, which holds the last W columns (so it
// may repeat some; nothing is read beyond a row, and no mask is needed). Tables narrower than a vector are
// walked with V = double.
#pragma once
#include "kernels/rows.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

template <class V>
constexpr std::size_t lanes = sizeof(V) / sizeof(double);

TB_INLINE bool narrow(std::size_t d) { return d < static_cast<std::size_t>(W); }
TB_INLINE std::size_t padded(std::size_t d) {
  const std::size_t w = narrow(d) ? 1 : W;
  return (d + w - 1) / w * w;
}
// Where column j lies in an accumulator array.
TB_INLINE std::size_t place(std::size_t j, std::size_t d) {
  const std::size_t whole = narrow(d) ? d : d / W * W;
  return j < whole ? j : whole + (j + W - d);
}

template <class V>
TB_INLINE V read(const double* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
TB_INLINE V read(const float* p) {
  if constexpr (lanes<V> == 1) {
    return *p;
  } else {
    typedef float Half __attribute__((vector_size(W * 4)));
    Half h;
    std::memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, V);
  }
}
template <class V>
TB_INLINE void write(double* p, V v) {
  std::memcpy(p, &v, sizeof v);
}
template <class V>
TB_INLINE V fill(double x) {
  return x - V{};
}
TB_INLINE double pick(bool m, double yes, double no) { return m ? yes : no; }

// Memory is fetched before its turn: what `ahead` points to, piece by piece, or else rows further on in the list.
struct Ahead {
  std::uintptr_t next;
  bool along_list;
};

TB_INLINE std::uintptr_t address(const RowList& b, std::size_t k) {
  return reinterpret_cast<std::uintptr_t>(b.x) +
         static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(b.row[k]) * b.stride);
}
TB_INLINE void fetch(std::uintptr_t p) { __builtin_prefetch(reinterpret_cast<const void*>(p), 0, 2); }

// R rows of one slot, all columns.
template <class Op, class T, class V, std::size_t R>
TB_INLINE void walk_rows(const RowList& b, std::size_t k, double* acc, Op& op, Ahead& ahead) {
  const T* x[R];
  V w[R];
  for (std::size_t r = 0; r < R; ++r) {
    x[r] = reinterpret_cast<const T*>(b.x + static_cast<std::ptrdiff_t>(b.row[k + r]) * b.stride);
    w[r] = fill<V>(b.w ? b.w[k + r] : 1.0);
  }
  if (ahead.along_list) {
    constexpr std::size_t further = 12;
    for (std::size_t r = k + further; r < k + further + R && r < b.m; ++r) {
      const std::uintptr_t p = address(b, r);
      for (std::size_t i = 0; i < b.d * sizeof(T) && i < 4096; i += 64) fetch(p + i);
    }
  }
  const std::size_t size = padded(b.d);
  const std::size_t whole = b.d / lanes<V> * lanes<V>;
  V v[R];
  std::size_t j = 0;
  for (; j < whole; j += lanes<V>) {
    for (std::size_t r = 0; r < R; ++r) v[r] = read<V>(x[r] + j);
    op.template add<V, R>(v, w, acc + j, size);
    constexpr std::size_t bytes = R * lanes<V> * sizeof(T);
    for (std::size_t i = 0; i < bytes; i += 64) fetch(ahead.next + i);
    ahead.next += bytes;
  }
  if (j < b.d) {
    for (std::size_t r = 0; r < R; ++r) v[r] = read<V>(x[r] + b.d - lanes<V>);
    op.template add<V, R>(v, w, acc + j, size);
  }
}

// Four rows at a time where the list has four of one slot together: the accumulators are then loaded and
// stored once for four rows.
template <class Op, class T, class V>
static void walk_list(const RowList& b, double* acc, Op& op) {
  const std::size_t step = Op::fields * padded(b.d);
  Ahead ahead{reinterpret_cast<std::uintptr_t>(b.ahead ? b.ahead : reinterpret_cast<const char*>(acc)), b.scattered};
  std::size_t k = 0;
  while (k < b.m) {
    const std::uint32_t s = b.slot[k];
    double* a = acc + s * step;
    if (k + 4 <= b.m && b.slot[k + 1] == s && b.slot[k + 2] == s && b.slot[k + 3] == s) {
      walk_rows<Op, T, V, 4>(b, k, a, op, ahead);
      k += 4;
    } else {
      walk_rows<Op, T, V, 1>(b, k, a, op, ahead);
      k += 1;
    }
  }
}

template <class Op>
TB_INLINE void walk(const RowList& b, double* acc, Op& op) {
  if (b.dtype == Dtype::f64) {
    if (narrow(b.d))
      walk_list<Op, double, double>(b, acc, op);
    else
      walk_list<Op, double, Vec>(b, acc, op);
  } else {
    if (narrow(b.d))
      walk_list<Op, float, double>(b, acc, op);
    else
      walk_list<Op, float, Vec>(b, acc, op);
  }
}

}  // namespace tb::TB_ISA
