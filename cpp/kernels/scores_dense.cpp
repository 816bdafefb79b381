// Terms of real-valued columns: Gaussian, linear, binary. One class at a time, many rows in registers.
//
// A row's result does not depend on its neighbours: where a tile holds missing values, complete rows go through
// the same operations in the same order as in a tile without.
#include "kernels/scores.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr int N = 8;  // vectors of rows held in registers

// The share-th of `of` parts of the lines of a patch.
void fetch(const Patch& next, std::size_t share, std::size_t of) {
  if (next.cols == nullptr) return;
  const Columns& cols = *next.cols;
  const bool rows = cols.row_major;
  const std::size_t lines = rows ? next.rows : next.width;
  for (std::size_t i = lines * share / of; i < lines * (share + 1) / of; ++i) {
    const Column& column = cols.col[rows ? next.j0 : next.j0 + i];
    const char* p = column.data + static_cast<std::ptrdiff_t>(rows ? next.r0 + i : next.r0) * column.stride;
    const std::ptrdiff_t end = rows ? cols.col[next.j0 + next.width - 1].data - column.data
                                    : static_cast<std::ptrdiff_t>(next.rows - 1) * column.stride;
    if (!rows && (column.stride < 1 || column.stride > 8)) continue;  // one line per value: leave it to the hardware
    for (std::ptrdiff_t b = 0; b <= end + 63; b += 64) __builtin_prefetch(p + b, 0, 2);
  }
}

// body(Count<n>{}, r) for n vectors of rows from row r, covering all rows (which are filled up to a whole vector).
template <int n>
struct Count {
  static constexpr int value = n;
};
template <class F>
TB_INLINE void for_rows(std::size_t rows, F&& body) {
  std::size_t r = 0;
  for (; r + (N - 1) * W < rows; r += N * W) body(Count<N>{}, r);
  for (; r < rows; r += W) body(Count<1>{}, r);
}

template <int n, bool missing>
TB_INLINE void gaussian_rows(const double* tile, std::size_t width, const double* mean, const double* scale,
                             const double* log_norm, double constant, double* acc) {
  Vec sum[n], norm[n];
  for (int i = 0; i < n; ++i) sum[i] = load(acc + i * W);
  for (int i = 0; i < n; ++i) norm[i] = set(missing ? 0.0 : constant);
  for (std::size_t j = 0; j < width; ++j) {
    const Vec m = set(mean[j]), s = set(scale[j]);
    for (int i = 0; i < n; ++i) {
      const Vec x = load(tile + j * kRows + i * W);
      Vec t = (x - m) * s;  // x * s - m * s would be one operation less, but loses digits far from 0
      if (missing) t = pick(x == x, t, Vec{});
      sum[i] -= t * t;
    }
  }
  for (std::size_t j = 0; missing && j < width; ++j) {
    for (int i = 0; i < n; ++i) {
      const Vec x = load(tile + j * kRows + i * W);
      norm[i] += pick(x == x, set(log_norm[j]), Vec{});
    }
  }
  for (int i = 0; i < n; ++i) store(acc + i * W, sum[i] + norm[i]);
}

template <int n, bool care>
TB_INLINE void linear_rows(const double* tile, std::size_t width, const double* weight, const double* bias,
                           double constant, double* acc) {
  Vec sum[n], shift[n];
  for (int i = 0; i < n; ++i) sum[i] = load(acc + i * W);
  for (int i = 0; i < n; ++i) shift[i] = set(care ? 0.0 : constant);
  for (std::size_t j = 0; j < width; ++j) {
    const Vec w = set(weight[j]);
    for (int i = 0; i < n; ++i) {
      const Vec x = load(tile + j * kRows + i * W);
      if (care) {  // nothing for a zero, even if w is -inf; nothing for a missing value
        const Mask some = (x < 0.0) | (x > 0.0);
        sum[i] += pick(some, x, Vec{}) * pick(some, w, Vec{});
      } else {
        sum[i] += x * w;
      }
    }
  }
  for (std::size_t j = 0; care && j < width; ++j) {
    for (int i = 0; i < n; ++i) {
      const Vec x = load(tile + j * kRows + i * W);
      shift[i] += pick(x == x, set(bias[j]), Vec{});
    }
  }
  for (int i = 0; i < n; ++i) store(acc + i * W, sum[i] + shift[i]);
}

template <int n, bool missing>
TB_INLINE void binary_rows(const double* tile, std::size_t width, const double* no, const double* yes,
                           std::size_t step, double threshold, double* acc) {
  Vec sum[n];
  for (int i = 0; i < n; ++i) sum[i] = load(acc + i * W);
  for (std::size_t j = 0; j < width; ++j) {
    const Vec below = set(no[j * step]), above = set(yes[j * step]);
    for (int i = 0; i < n; ++i) {
      const Vec x = load(tile + j * kRows + i * W);
      Vec term = pick(x > threshold, above, below);
      if (missing) term = pick(x == x, term, Vec{});
      sum[i] += term;
    }
  }
  for (int i = 0; i < n; ++i) store(acc + i * W, sum[i]);
}

}  // namespace

void add_gaussian(const double* tile, std::size_t rows, std::size_t j0, std::size_t width, bool missing,
                  const GaussianTerms& terms, const double* constant, const Patch& next, double* acc) {
  for (std::size_t c = 0; c < terms.classes; ++c) {
    fetch(next, c, terms.classes);
    const std::size_t at = c * terms.d + j0;
    for_rows(rows, [&](auto n, std::size_t r) {
      double* to = acc + c * kRows + r;
      if (missing) {
        gaussian_rows<n.value, true>(tile + r, width, terms.mean + at, terms.scale + at, terms.log_norm + at, 0.0, to);
      } else {
        gaussian_rows<n.value, false>(tile + r, width, terms.mean + at, terms.scale + at, nullptr, constant[c], to);
      }
    });
  }
}

void add_linear(const double* tile, std::size_t rows, std::size_t j0, std::size_t width, bool missing,
                const LinearTerms& terms, const double* constant, const Patch& next, double* acc) {
  for (std::size_t c = 0; c < terms.classes; ++c) {
    fetch(next, c, terms.classes);
    const std::size_t at = c * terms.d + j0;
    for_rows(rows, [&](auto n, std::size_t r) {
      double* to = acc + c * kRows + r;
      if (missing || !terms.finite) {
        linear_rows<n.value, true>(tile + r, width, terms.weight + at, terms.bias + at, 0.0, to);
      } else {
        linear_rows<n.value, false>(tile + r, width, terms.weight + at, nullptr, constant[c], to);
      }
    });
  }
}

void add_binary(const double* tile, std::size_t rows, std::size_t j0, std::size_t width, bool missing,
                const BinaryTerms& terms, double* acc) {
  for (std::size_t c = 0; c < terms.classes; ++c) {
    const double* no = terms.no + j0 * terms.classes + c;
    const double* yes = terms.yes + j0 * terms.classes + c;
    for_rows(rows, [&](auto n, std::size_t r) {
      double* to = acc + c * kRows + r;
      if (missing) {
        binary_rows<n.value, true>(tile + r, width, no, yes, terms.classes, terms.threshold, to);
      } else {
        binary_rows<n.value, false>(tile + r, width, no, yes, terms.classes, terms.threshold, to);
      }
    });
  }
}

}  // namespace tb::TB_ISA
