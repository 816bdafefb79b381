#include "kernels/sparse_sums.hpp"

#include "kernels/stored.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kAhead = 16;  // rows of one class lie apart: fetch them before their turn, and where they start
                                    // as much earlier
constexpr std::size_t kRowsAtOnce = 4;  // rows that are read side by side

// Always inlined: a call that does nothing but fetch looks to GCC as if it did nothing, and would be left out.
TB_INLINE void prefetch(const void* p, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes && i < 1024; i += 64) {
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + i), 0, 2);
  }
}

// Stored values [b, e) of a row.
template <class I>
struct Stretch {
  std::size_t b, e;
  double w;
  Stretch(const SparseRows& s, std::size_t k)
      : b(static_cast<std::size_t>(static_cast<const I*>(s.x->start)[s.row[k]])),
        e(static_cast<std::size_t>(static_cast<const I*>(s.x->start)[s.row[k] + 1])),
        w(s.w ? s.w[s.row[k]] : 1.0) {}
};

template <bool threshold, class T, class I>
struct Adder {
  const T* value;
  const I* index;
  double t;
  double* sum;
  Doubts<T> doubts;

  inline __attribute__((always_inline)) void add(std::size_t p, double w) {
    doubts.template look<threshold>(value[p]);
    const auto x = static_cast<double>(value[p]);
    sum[index[p]] += threshold ? (x > t ? w : 0.0) : w * x;
  }
};

// Four rows side by side, as far as the shortest goes: their terms rise together, so that the sums of one stretch of
// terms are met while they are near, and a sum that is waited for does not hold up the others.
template <bool threshold, class T, class I>
bool add_rows(const SparseRows& s, double* sum) {
  const T* value = static_cast<const T*>(s.x->value);
  const I* index = static_cast<const I*>(s.x->index);
  Adder<threshold, T, I> to{value, index, threshold ? *s.threshold : 0.0, sum, {}};
  const auto fetch = [&](std::size_t k) __attribute__((always_inline)) {
    if (k + kAhead < s.m) __builtin_prefetch(static_cast<const I*>(s.x->start) + s.row[k + kAhead], 0, 2);
    if (k >= s.m) return;
    const Stretch<I> soon(s, k);
    prefetch(value + soon.b, (soon.e - soon.b) * sizeof(T));
    prefetch(index + soon.b, (soon.e - soon.b) * sizeof(I));
  };
  std::size_t k = 0;
  for (; k + kRowsAtOnce <= s.m; k += kRowsAtOnce) {
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) fetch(k + r + kAhead);
    Stretch<I> row[kRowsAtOnce] = {{s, k}, {s, k + 1}, {s, k + 2}, {s, k + 3}};
    std::size_t common = row[0].e - row[0].b;
    for (const Stretch<I>& one : row) common = one.e - one.b < common ? one.e - one.b : common;
    for (std::size_t p = 0; p < common; ++p) {
      for (std::size_t r = 0; r < kRowsAtOnce; ++r) to.add(row[r].b + p, row[r].w);
    }
    for (const Stretch<I>& one : row) {
      for (std::size_t p = one.b + common; p < one.e; ++p) to.add(p, one.w);
    }
  }
  for (; k < s.m; ++k) {
    const Stretch<I> row(s, k);
    for (std::size_t p = row.b; p < row.e; ++p) to.add(p, row.w);
  }
  if (!to.doubts.any()) return true;
  for (k = 0; k < s.m; ++k) {
    const Stretch<I> row(s, k);
    if (!fits<threshold>(value + row.b, row.e - row.b)) return false;
  }
  return true;
}

template <class T, class I>
bool add_typed(const SparseRows& s, double* sum) {
  return s.threshold ? add_rows<true, T, I>(s, sum) : add_rows<false, T, I>(s, sum);
}

template <class T>
bool add_indexed(const SparseRows& s, double* sum) {
  return s.x->index_type == Dtype::i32 ? add_typed<T, std::int32_t>(s, sum) : add_typed<T, std::int64_t>(s, sum);
}

// Whether the indices of each row rise is asked of the whole stretch, as if it were one row: where rows meet they may
// fall, and that is counted apart.
template <class U, class I>
bool check_indices(const Csr& x, std::size_t begin, std::size_t end, bool& rising) {
  const auto* const index = static_cast<const U*>(x.index);
  const auto* const start = static_cast<const I*>(x.start);
  const auto from = static_cast<std::size_t>(start[begin]), to = static_cast<std::size_t>(start[end]);
  if (from == to) return true;
  constexpr std::size_t step = 1 << 20;
  U most = index[to - 1];
  std::size_t falls = 0, between = 0;
  for (std::size_t p = from; p + 1 < to;) {
    const std::size_t e = to - 1 - p < step ? to - 1 : p + step;
    U some = 0;
    for (; p < e; ++p) {
      most = index[p] > most ? index[p] : most;
      some += index[p] >= index[p + 1] ? U{1} : U{0};
    }
    falls += some;
  }
  for (std::size_t i = begin; i < end; ++i) {
    const auto b = static_cast<std::size_t>(start[i]);
    if (b > from && b < static_cast<std::size_t>(start[i + 1])) between += index[b - 1] >= index[b];
  }
  rising = falls == between;
  return most < x.d;
}

}  // namespace

bool add_sparse(const SparseRows& s, double* sum) {
  switch (s.x->value_type) {
    case Dtype::f64:
      return add_indexed<double>(s, sum);
    case Dtype::f32:
      return add_indexed<float>(s, sum);
    case Dtype::i64:
      return add_indexed<std::int64_t>(s, sum);
    case Dtype::u8:
      return add_indexed<std::uint8_t>(s, sum);
    default:
      return add_indexed<std::int32_t>(s, sum);
  }
}

bool check_sparse(const Csr& x, std::size_t begin, std::size_t end, bool& rising) {
  return x.index_type == Dtype::i32 ? check_indices<std::uint32_t, std::int32_t>(x, begin, end, rising)
                                    : check_indices<std::uint64_t, std::int64_t>(x, begin, end, rising);
}

}  // namespace tb::TB_ISA
