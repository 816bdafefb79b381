// Terms of sparse rows: for each stored value its term's row of weights (one number per class), times the value.
#include "kernels/lanes.hpp"
#include "kernels/scores.hpp"
#include "kernels/stored.hpp"
#include "kernels/transpose.hpp"
#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::ptrdiff_t kAhead = 16;  // stored values between asking for a term's weights and using them

template <class F>
TB_INLINE void with_csr_types(const Csr& csr, F&& f) {
  const auto with_value = [&](auto value_type) {
    if (csr.index_type == Dtype::i32)
      f(value_type, Type<std::int32_t>{});
    else
      f(value_type, Type<std::int64_t>{});
  };
  switch (csr.value_type) {
    case Dtype::f32:
      return with_value(Type<float>{});
    case Dtype::i64:
      return with_value(Type<std::int64_t>{});
    case Dtype::i32:
      return with_value(Type<std::int32_t>{});
    case Dtype::u8:
      return with_value(Type<std::uint8_t>{});
    default:
      return with_value(Type<double>{});
  }
}

// sum[r * kLanes + c] for `some` classes from c0, n vectors.
template <int n, class V, class I>
void sum_block(const Csr& csr, std::size_t r0, std::size_t rows, const CsrTerms& terms, std::size_t c0, Tail tail,
               double* sum) {
  const auto* start = static_cast<const I*>(csr.start) + r0;
  const auto* stored = static_cast<const V*>(csr.value);
  const auto* index = static_cast<const I*>(csr.index);
  const double* weight = terms.weight + c0;
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(start[rows]) - 1;
  for (std::size_t r = 0; r < rows; ++r) {
    Vec a[n];
    for (int v = 0; v < n; ++v) a[v] = Vec{};
    for (std::ptrdiff_t p = start[r]; p < static_cast<std::ptrdiff_t>(start[r + 1]); ++p) {
      const I ahead = index[p + kAhead < last ? p + kAhead : last];
      const double* soon = weight + static_cast<std::size_t>(ahead) * terms.classes;
      for (int v = 0; v < n * W; v += 8) __builtin_prefetch(soon + v);
      double x = static_cast<double>(stored[p]);
      if (terms.binary) x = x > terms.threshold ? 1.0 : 0.0;
      if (x == 0.0) continue;  // 0 * -inf counts as 0
      const double* w = weight + static_cast<std::size_t>(index[p]) * terms.classes;
      for (int v = 0; v < n - 1; ++v) a[v] += x * load(w + v * W);
      a[n - 1] += x * load_tail(w + (n - 1) * W, tail);
    }
    for (int v = 0; v < n; ++v) store(sum + r * kLanes + v * W, a[v]);
  }
}

}  // namespace

void add_csr(const Csr& csr, std::size_t r0, std::size_t rows, const CsrTerms& terms, double* acc) {
  alignas(64) double sum[kRows * kLanes];
  for (std::size_t c0 = 0; c0 < terms.classes; c0 += kLanes) {
    const std::size_t some = terms.classes - c0 < kLanes ? terms.classes - c0 : kLanes;
    const Tail tail = tail_of((some - 1) % W + 1);
    with_vectors(some, [&](auto n) {
      with_csr_types(csr, [&](auto v, auto i) {
        sum_block<n.value, typename decltype(v)::type, typename decltype(i)::type>(csr, r0, rows, terms, c0, tail, sum);
      });
    });
    add_rows(sum, kLanes, rows, some, acc + c0 * kRows);
  }
}

bool csr_fit_for(const Csr& csr, std::size_t r0, std::size_t rows, bool binary) {
  bool fit = true;
  with_csr_types(csr, [&](auto v, auto i) {
    using V = typename decltype(v)::type;
    using I = typename decltype(i)::type;
    const auto* start = static_cast<const I*>(csr.start);
    const auto from = static_cast<std::size_t>(start[r0]), to = static_cast<std::size_t>(start[r0 + rows]);
    const V* stored = static_cast<const V*>(csr.value) + from;
    fit = binary ? fits_fast<true>(stored, to - from) : fits_fast<false>(stored, to - from);
  });
  return fit;
}

bool add_numbers(const double* from, std::size_t rows, std::size_t classes, double* acc) {
  bool bad = false;
  for (std::size_t i = 0; i < rows * classes; ++i) bad |= !(from[i] < __builtin_inf());
  add_rows(from, classes, rows, classes, acc);
  return !bad;
}

}  // namespace tb::TB_ISA
