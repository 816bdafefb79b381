#include "kernels/csr.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kAhead = 8;  // rows of one class lie apart: fetch them before their turn

void prefetch(const void* p, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes && i < 1024; i += 64) {
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + i), 0, 2);
  }
}

template <bool threshold, class T>
bool fine(const T* x, std::size_t n) {
  bool bad = false;
  for (std::size_t k = 0; k < n; ++k) {
    if constexpr (static_cast<T>(0.5) != T{}) {  // a floating type
      bad |= threshold ? !(x[k] - x[k] == T{}) : !((x[k] >= T{}) & (x[k] - x[k] == T{}));
    } else if constexpr (!threshold && static_cast<T>(-1) < T{}) {
      bad |= x[k] < 0;
    }
  }
  return !bad;
}

template <bool threshold, class T, class I>
bool add_rows(const SparseRows& s, double* sum) {
  const T* value = static_cast<const T*>(s.x->value);
  const I* index = static_cast<const I*>(s.x->index);
  const I* start = static_cast<const I*>(s.x->start);
  const double t = threshold ? *s.threshold : 0.0;
  bool clean = true;
  for (std::size_t k = 0; k < s.m; ++k) {
    const std::size_t i = s.row[k];
    if (k + kAhead < s.m) {
      const std::size_t soon = s.row[k + kAhead];
      const auto b = static_cast<std::size_t>(start[soon]), n = static_cast<std::size_t>(start[soon + 1]) - b;
      prefetch(value + b, n * sizeof(T));
      prefetch(index + b, n * sizeof(I));
    }
    const double w = s.w ? s.w[i] : 1.0;
    const auto b = static_cast<std::size_t>(start[i]), e = static_cast<std::size_t>(start[i + 1]);
    clean &= fine<threshold>(value + b, e - b);
    for (std::size_t p = b; p < e; ++p) {
      const auto x = static_cast<double>(value[p]);
      sum[index[p]] += threshold ? (x > t ? w : 0.0) : w * x;
    }
  }
  return clean;
}

template <class T, class I>
bool add_typed(const SparseRows& s, double* sum) {
  return s.threshold ? add_rows<true, T, I>(s, sum) : add_rows<false, T, I>(s, sum);
}

template <class T>
bool add_indexed(const SparseRows& s, double* sum) {
  return s.x->index_type == Dtype::i32 ? add_typed<T, std::int32_t>(s, sum) : add_typed<T, std::int64_t>(s, sum);
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

}  // namespace tb::TB_ISA
