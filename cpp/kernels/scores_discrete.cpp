// Terms of integer codes: for each cell a row of a table (one number per class) is added.
#include "kernels/fetch.hpp"
#include "kernels/lanes.hpp"
#include "kernels/scores.hpp"
#include "kernels/transpose.hpp"
#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

// What the loops below work on: columns [first, last), all of one type, and classes from c0.
struct Task {
  const Columns* cols;
  const DiscreteTerms* terms;
  std::size_t first;
  std::size_t last;
  std::size_t c0;
  Tail tail;
};

template <class T>
TB_INLINE std::int64_t code_at(const char* p) {
  const T x = value<T>(p);
  if constexpr (sizeof(T) == 8 && static_cast<T>(-1) > 0) {
    return x > static_cast<T>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(x);
  } else {
    return static_cast<std::int64_t>(x);
  }
}

// Classes in vectors of the whole width.
struct Wide {
  using V = Vec;
  static constexpr std::size_t lanes = W;
  TB_INLINE V tail(const double* p, Tail t) { return load_tail(p, t); }
};

// Four classes fill half of the widest vectors, which take twice as long to load.
#if defined(__AVX512F__)
struct Half {
  using V = Quad;
  static constexpr std::size_t lanes = 4;
  TB_INLINE V tail(const double* p, Tail t) { return reinterpret_cast<V>(_mm256_maskz_loadu_pd(t, p)); }
};
#else
using Half = Wide;
#endif

// sum[i * n * lanes + c] += the terms of row `row` + i: `together` independent chains of additions.
template <class T, class Lanes, int n, bool whole, std::size_t together>
TB_INLINE void sum_rows(const Task& task, std::size_t row, double* sum) {
  using V = typename Lanes::V;
  constexpr std::size_t lanes = Lanes::lanes;
  const DiscreteTerms terms = *task.terms;
  V a[together][n];
  for (std::size_t i = 0; i < together; ++i) {
    for (int v = 0; v < n; ++v) std::memcpy(&a[i][v], sum + (i * n + v) * lanes, sizeof(V));
  }
  for (std::size_t j = task.first; j < task.last; ++j) {
    const std::ptrdiff_t stride = task.cols->col[j].stride;
    const char* p = task.cols->col[j].data + static_cast<std::ptrdiff_t>(row) * stride;
    const double* levels = terms.level[j] + task.c0;
    const std::uint64_t size = terms.size[j];
    for (std::size_t i = 0; i < together; ++i, p += stride) {
      const std::int64_t code = code_at<T>(p);
      const auto level = static_cast<std::uint64_t>(code);  // a negative code becomes larger than any size
      const double* w = levels + level * terms.classes;
      if (__builtin_expect(level >= size, 0)) {
        const bool missing = code == terms.missing;
        w = (missing ? terms.absent : terms.unseen[j]) + task.c0;
        if (!missing) __atomic_store_n(terms.met + j, true, __ATOMIC_RELAXED);
      }
      for (int v = 0; v < n; ++v) {
        V more;
        if (whole || v + 1 < n)
          std::memcpy(&more, w + v * lanes, sizeof(V));
        else
          more = Lanes::tail(w + v * lanes, task.tail);
        a[i][v] += more;
      }
    }
  }
  for (std::size_t i = 0; i < together; ++i) {
    for (int v = 0; v < n; ++v) std::memcpy(sum + (i * n + v) * lanes, &a[i][v], sizeof(V));
  }
}

template <class T, class Lanes, int n, bool whole>
void sum_block(const Task& task, std::size_t r0, std::size_t rows, const Patch& next, double* sum) {
  constexpr std::size_t together = n == 1 ? 8 : n == 2 ? 4 : 2;
  std::size_t r = 0;
  for (; r + together <= rows; r += together) {
    fetch(next, r / together, kRows / together);
    sum_rows<T, Lanes, n, whole, together>(task, r0 + r, sum + r * n * Lanes::lanes);
  }
  for (; r < rows; ++r) sum_rows<T, Lanes, n, whole, 1>(task, r0 + r, sum + r * n * Lanes::lanes);
}

template <class F>
TB_INLINE void with_code_type(Dtype t, F&& f) {
  switch (t) {
    case Dtype::i8:
      return f(Type<std::int8_t>{});
    case Dtype::i16:
      return f(Type<std::int16_t>{});
    case Dtype::i32:
      return f(Type<std::int32_t>{});
    case Dtype::i64:
      return f(Type<std::int64_t>{});
    case Dtype::u16:
      return f(Type<std::uint16_t>{});
    case Dtype::u32:
      return f(Type<std::uint32_t>{});
    case Dtype::u64:
      return f(Type<std::uint64_t>{});
    default:
      return f(Type<std::uint8_t>{});
  }
}

}  // namespace

void add_discrete(const Columns& cols, std::size_t r0, std::size_t rows, const DiscreteTerms& terms, double* acc) {
  alignas(64) double sum[kRows * kLanes];
  const std::size_t left = cols.n - r0 - rows;
  for (std::size_t c0 = 0; c0 < terms.classes; c0 += kLanes) {
    const std::size_t some = terms.classes - c0 < kLanes ? terms.classes - c0 : kLanes;
    const std::size_t width = some <= Half::lanes ? Half::lanes : W, step = (some + width - 1) / width * width;
    for (std::size_t i = 0; i < rows * step; ++i) sum[i] = 0.0;
    for (std::size_t first = 0, last = 0; first < cols.d; first = last) {
      const Dtype dtype = cols.col[first].dtype;
      while (last < cols.d && cols.col[last].dtype == dtype) ++last;
      const Columns* more = left > 0 && c0 == 0 ? &cols : nullptr;
      const Patch next{more, r0 + rows, left < kRows ? left : kRows, first, last - first};
      const Task task{&cols, &terms, first, last, c0, tail_of((some - 1) % W + 1)};
      with_code_type(dtype, [&](auto t) {
        using T = typename decltype(t)::type;
        if (some <= Half::lanes)
          return some == Half::lanes ? sum_block<T, Half, 1, true>(task, r0, rows, next, sum)
                                     : sum_block<T, Half, 1, false>(task, r0, rows, next, sum);
        with_vectors(some, [&](auto n) {
          if (some % W == 0)
            sum_block<T, Wide, n.value, true>(task, r0, rows, next, sum);
          else
            sum_block<T, Wide, n.value, false>(task, r0, rows, next, sum);
        });
      });
    }
    add_rows(sum, step, rows, some, acc + c0 * kRows);
  }
}

}  // namespace tb::TB_ISA
