// Terms of real-valued columns: Gaussian, linear, binary. One class at a time, many rows in registers.
//
// A row's result does not depend on its neighbours: where a tile holds missing values, complete rows go through
// the same operations in the same order as in a tile without.
#include "kernels/fetch.hpp"
#include "kernels/scores.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

// Vectors of rows held in registers: of 16, with two or three for the column's parameters. Two sums per row: half.
constexpr int kOneSum = 8;
constexpr int kTwoSums = 4;

// body(Count<n>{}, r) for n vectors of rows from row r, covering all rows (which are filled up to a whole vector).
template <int n>
struct Count {
  static constexpr int value = n;
};
template <int most, class F>
TB_INLINE void for_rows(std::size_t rows, F&& body) {
  std::size_t r = 0;
  for (; r + (most - 1) * W < rows; r += most * W) body(Count<most>{}, r);
  for (; r < rows; r += W) body(Count<1>{}, r);
}

template <int n>
TB_INLINE void gaussian_rows(const double* tile, std::size_t width, const double* offset, const double* scale,
                             double constant, double* acc) {
  Vec sum[n];
  for (int i = 0; i < n; ++i) sum[i] = load(acc + i * W);
  for (std::size_t j = 0; j < width; ++j) {
    const Vec o = set(offset[j]), s = set(scale[j]);
    for (int i = 0; i < n; ++i) {
      const Vec t = load(tile + j * kRows + i * W) * s - o;
      sum[i] -= t * t;
    }
  }
  for (int i = 0; i < n; ++i) store(acc + i * W, sum[i] + constant);
}

// Two classes at once: half the loads of x, and each row's sums are those of gaussian_rows.
template <int n>
TB_INLINE void gaussian_rows_of_two(const double* tile, std::size_t width, const double* offset, const double* scale,
                                    std::size_t d, const double* constant, double* acc) {
  Vec one[n], two[n];
  for (int i = 0; i < n; ++i) one[i] = load(acc + i * W);
  for (int i = 0; i < n; ++i) two[i] = load(acc + kRows + i * W);
  for (std::size_t j = 0; j < width; ++j) {
    const Vec o = set(offset[j]), s = set(scale[j]), p = set(offset[d + j]), q = set(scale[d + j]);
    for (int i = 0; i < n; ++i) {
      const Vec x = load(tile + j * kRows + i * W);
      const Vec t = x * s - o, u = x * q - p;
      one[i] -= t * t;
      two[i] -= u * u;
    }
  }
  for (int i = 0; i < n; ++i) store(acc + i * W, one[i] + constant[0]);
  for (int i = 0; i < n; ++i) store(acc + kRows + i * W, two[i] + constant[1]);
}

template <int n>
TB_INLINE void gaussian_rows_missing(const double* tile, std::size_t width, const double* offset, const double* scale,
                                     const double* log_norm, double* acc) {
  Vec sum[n], norm[n];
  for (int i = 0; i < n; ++i) sum[i] = load(acc + i * W);
  for (int i = 0; i < n; ++i) norm[i] = Vec{};
  for (std::size_t j = 0; j < width; ++j) {
    const Vec o = set(offset[j]), s = set(scale[j]), l = set(log_norm[j]);
    for (int i = 0; i < n; ++i) {
      const Vec x = load(tile + j * kRows + i * W);
      const Mask there = x == x;
      const Vec t = pick(there, x * s - o, Vec{});
      sum[i] -= t * t;
      norm[i] += pick(there, l, Vec{});
    }
  }
  for (int i = 0; i < n; ++i) store(acc + i * W, sum[i] + norm[i]);
}

template <int n>
TB_INLINE void linear_rows(const double* tile, std::size_t width, const double* weight, double constant, double* acc) {
  Vec sum[n];
  for (int i = 0; i < n; ++i) sum[i] = load(acc + i * W);
  for (std::size_t j = 0; j < width; ++j) {
    const Vec w = set(weight[j]);
    for (int i = 0; i < n; ++i) sum[i] += load(tile + j * kRows + i * W) * w;
  }
  for (int i = 0; i < n; ++i) store(acc + i * W, sum[i] + constant);
}

// Nothing for a missing value; nothing but the bias for a zero, even if the weight is -inf.
template <int n>
TB_INLINE void linear_rows_careful(const double* tile, std::size_t width, const double* weight, const double* bias,
                                   double* acc) {
  Vec sum[n], shift[n];
  for (int i = 0; i < n; ++i) sum[i] = load(acc + i * W);
  for (int i = 0; i < n; ++i) shift[i] = Vec{};
  for (std::size_t j = 0; j < width; ++j) {
    const Vec w = set(weight[j]), b = set(bias[j]);
    for (int i = 0; i < n; ++i) {
      const Vec x = load(tile + j * kRows + i * W);
      const Mask some = x > 0.0;
      sum[i] += pick(some, x, Vec{}) * pick(some, w, Vec{});
      shift[i] += pick(x == x, b, Vec{});
    }
  }
  for (int i = 0; i < n; ++i) store(acc + i * W, sum[i] + shift[i]);
}

template <int n, bool missing>
TB_INLINE void binary_rows(const double* tile, std::size_t width, const double* no, const double* yes, std::size_t step,
                           double threshold, double* acc) {
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
  std::size_t c = 0;
  if (!missing) {
    for (; c + 1 < terms.classes; c += 2) {
      fetch(next, c, terms.classes);
      fetch(next, c + 1, terms.classes);
      const std::size_t at = c * terms.d + j0;
      for_rows<kTwoSums>(rows, [&](auto n, std::size_t r) {
        gaussian_rows_of_two<n.value>(tile + r, width, terms.offset + at, terms.scale + at, terms.d, constant + c,
                                      acc + c * kRows + r);
      });
    }
  }
  for (; c < terms.classes; ++c) {
    fetch(next, c, terms.classes);
    const double* offset = terms.offset + c * terms.d + j0;
    const double* scale = terms.scale + c * terms.d + j0;
    const double* log_norm = terms.log_norm + c * terms.d + j0;
    double* to = acc + c * kRows;
    if (missing) {
      for_rows<kTwoSums>(rows, [&](auto n, std::size_t r) {
        gaussian_rows_missing<n.value>(tile + r, width, offset, scale, log_norm, to + r);
      });
    } else {
      for_rows<kOneSum>(rows, [&](auto n, std::size_t r) {
        gaussian_rows<n.value>(tile + r, width, offset, scale, constant[c], to + r);
      });
    }
  }
}

void add_linear(const double* tile, std::size_t rows, std::size_t j0, std::size_t width, bool missing,
                const LinearTerms& terms, const double* constant, const Patch& next, double* acc) {
  for (std::size_t c = 0; c < terms.classes; ++c) {
    fetch(next, c, terms.classes);
    const double* weight = terms.weight + c * terms.d + j0;
    const double* bias = terms.bias + c * terms.d + j0;
    double* to = acc + c * kRows;
    if (missing || !terms.finite) {
      for_rows<kTwoSums>(
          rows, [&](auto n, std::size_t r) { linear_rows_careful<n.value>(tile + r, width, weight, bias, to + r); });
    } else {
      for_rows<kOneSum>(
          rows, [&](auto n, std::size_t r) { linear_rows<n.value>(tile + r, width, weight, constant[c], to + r); });
    }
  }
}

void add_binary(const double* tile, std::size_t rows, std::size_t j0, std::size_t width, bool missing,
                const BinaryTerms& terms, const Patch& next, double* acc) {
  for (std::size_t c = 0; c < terms.classes; ++c) {
    fetch(next, c, terms.classes);
    const double* no = terms.no + j0 * terms.classes + c;
    const double* yes = terms.yes + j0 * terms.classes + c;
    for_rows<kOneSum>(rows, [&](auto n, std::size_t r) {
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
