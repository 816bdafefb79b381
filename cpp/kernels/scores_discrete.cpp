// Terms of integer codes: for each cell a row of a table (one number per class) is added.
#include "kernels/lanes.hpp"
#include "kernels/scores.hpp"
#include "kernels/transpose.hpp"
#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kCols = 32;  // columns resolved to table rows at a time: 16 KiB of addresses

TB_INLINE const double* terms_of(const DiscreteTerms& terms, std::size_t j, std::int64_t code) {
  const auto level = static_cast<std::uint64_t>(code);  // a negative code becomes larger than any size
  const double* otherwise = code == -1 ? terms.absent : terms.unseen[j];
  return level < terms.size[j] ? terms.level[j] + level * terms.classes : otherwise;
}

template <class T>
TB_INLINE std::int64_t code_at(const char* p) {
  const T x = value<T>(p);
  if constexpr (sizeof(T) == 8 && static_cast<T>(-1) > 0) {
    return x > static_cast<T>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(x);
  } else {
    return static_cast<std::int64_t>(x);
  }
}

// at[r * kCols + j]: where the terms of row r, column j0 + j are.
void resolve(const Patch& from, const DiscreteTerms& terms, const double** at) {
  const Column* col = from.cols->col + from.j0;
  if (from.cols->row_major) {
    with_type(col[0].dtype, [&](auto t) {
      using T = typename decltype(t)::type;
      for (std::size_t r = 0; r < from.rows; ++r) {
        const char* p = col[0].data + static_cast<std::ptrdiff_t>(from.r0 + r) * col[0].stride;
        for (std::size_t j = 0; j < from.width; ++j) {
          at[r * kCols + j] = terms_of(terms, from.j0 + j, code_at<T>(p + j * sizeof(T)));
        }
      }
    });
    return;
  }
  for (std::size_t j = 0; j < from.width; ++j) {
    with_type(col[j].dtype, [&](auto t) {
      using T = typename decltype(t)::type;
      const char* p = col[j].data + static_cast<std::ptrdiff_t>(from.r0) * col[j].stride;
      for (std::size_t r = 0; r < from.rows; ++r) {
        at[r * kCols + j] = terms_of(terms, from.j0 + j, code_at<T>(p + static_cast<std::ptrdiff_t>(r) * col[j].stride));
      }
    });
  }
}

// sum[r * kLanes + c] = the sum over columns of at[..][c0 + c], for `together` rows: independent chains of additions.
template <int n, std::size_t together>
TB_INLINE void sum_rows(const double* const* at, std::size_t width, std::size_t c0, Tail tail, double* sum) {
  Vec a[together][n];
  for (std::size_t i = 0; i < together; ++i) {
    for (int v = 0; v < n; ++v) a[i][v] = Vec{};
  }
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t i = 0; i < together; ++i) {
      const double* p = at[i * kCols + j] + c0;
      for (int v = 0; v < n - 1; ++v) a[i][v] += load(p + v * W);
      a[i][n - 1] += load_tail(p + (n - 1) * W, tail);
    }
  }
  for (std::size_t i = 0; i < together; ++i) {
    for (int v = 0; v < n; ++v) store(sum + i * kLanes + v * W, a[i][v]);
  }
}

template <int n>
void sum_block(const double* const* at, std::size_t rows, std::size_t width, std::size_t c0, Tail tail, double* sum) {
  constexpr std::size_t together = n == 1 ? 4 : 2;
  std::size_t r = 0;
  for (; r + together <= rows; r += together) {
    sum_rows<n, together>(at + r * kCols, width, c0, tail, sum + r * kLanes);
  }
  for (; r < rows; ++r) sum_rows<n, 1>(at + r * kCols, width, c0, tail, sum + r * kLanes);
}

}  // namespace

void add_discrete(const Columns& cols, std::size_t r0, std::size_t rows, const DiscreteTerms& terms, double* acc) {
  const double* at[kRows * kCols];
  alignas(64) double sum[kRows * kLanes];
  for (std::size_t j0 = 0; j0 < cols.d; j0 += kCols) {
    const std::size_t width = cols.d - j0 < kCols ? cols.d - j0 : kCols;
    resolve({&cols, r0, rows, j0, width}, terms, at);
    for (std::size_t c0 = 0; c0 < terms.classes; c0 += kLanes) {
      const std::size_t some = terms.classes - c0 < kLanes ? terms.classes - c0 : kLanes;
      const Tail tail = tail_of((some - 1) % W + 1);
      with_vectors(some, [&](auto n) { sum_block<n.value>(at, rows, width, c0, tail, sum); });
      add_rows(sum, kLanes, rows, some, acc + c0 * kRows);
    }
  }
}

}  // namespace tb::TB_ISA
