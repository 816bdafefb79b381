#include "kernels/lane_groups.hpp"

namespace tb::TB_ISA {
namespace {

// Rows i .. i + forms - 1 of a lower triangle.
template <int forms>
TB_INLINE void multiply_triangle(const double* factor, std::size_t d, std::size_t i, const double* x,
                                 Vec (&sums)[forms][kVecs]) {
  const double* a = factor + i * d;
  multiply<forms>(a, d, i, x, sums);
#pragma GCC unroll 8
  for (int t = 0; t < forms; ++t) {
#pragma GCC unroll 8
    for (int m = t; m < forms; ++m) {
      const Vec f = set(a[static_cast<std::size_t>(m) * d + i + static_cast<std::size_t>(t)]);
#pragma GCC unroll 8
      for (int q = 0; q < kVecs; ++q) sums[m][q] += f * load(x + (i + static_cast<std::size_t>(t)) * kGroup + q * W);
    }
  }
}

template <int forms>
void add_squares(const double* factor, std::size_t d, std::size_t i, const double* x, double* squares) {
  Vec z[forms][kVecs] = {};
  multiply_triangle<forms>(factor, d, i, x, z);
  for (int q = 0; q < kVecs; ++q) {
    Vec sum = load(squares + q * W);
    for (int m = 0; m < forms; ++m) sum += z[m][q] * z[m][q];
    store(squares + q * W, sum);
  }
}

template <int forms>
void put_forms(const double* factor, std::size_t d, std::size_t i, const double* x, double* z) {
  Vec sums[forms][kVecs] = {};
  multiply_triangle<forms>(factor, d, i, x, sums);
  for (int m = 0; m < forms; ++m) {
    for (int q = 0; q < kVecs; ++q) store(z + (i + static_cast<std::size_t>(m)) * kGroup + q * W, sums[m][q]);
  }
}

void add_unless(std::uint64_t leave, std::size_t from, std::size_t rows, const double* terms, double* acc) {
  if (leave == 0) {
    for (std::size_t r = 0; r < rows; ++r) acc[r] += terms[r];
    return;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    if (((leave >> (from + r)) & 1) == 0) acc[r] += terms[r];
  }
}

// Adds what is in registers to `forms` classes' acc.
template <int forms>
TB_INLINE void add_terms(const Vec (&terms)[forms][kVecs], std::size_t g, std::size_t rows, std::uint64_t leave,
                         double* acc) {
  const std::size_t r0 = g * kGroup, count = rows - r0 < kGroup ? rows - r0 : kGroup;
  for (int m = 0; m < forms; ++m) {
    double lane[kGroup];
    for (int q = 0; q < kVecs; ++q) store(lane + q * W, terms[m][q]);
    add_unless(leave, r0, count, lane, acc + static_cast<std::size_t>(m) * kRows + r0);
  }
}

}  // namespace

void add_quadratic(const double* lanes, std::size_t rows, std::uint64_t leave, std::size_t d, const double* mean,
                   const double* low, const double* factor, double constant, double* work, double* acc) {
  const std::size_t groups = groups_of(rows);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j < d; ++j) {
      const Vec shift = set(mean[j]), rest = set(low[j]);
      const std::size_t at = (g * d + j) * kGroup;
      for (int q = 0; q < kVecs; ++q) store(work + at + q * W, load(lanes + at + q * W) - shift - rest);
    }
  }
  double squares[kRows] = {};
  by_forms(d, [&]<int forms>(std::size_t i) {  // these rows of the factor stay in cache for all groups
    for (std::size_t g = 0; g < groups; ++g)
      add_squares<forms>(factor, d, i, work + g * d * kGroup, squares + g * kGroup);
  });
  for (std::size_t r = 0; r < rows; ++r) squares[r] = constant - 0.5 * squares[r];
  add_unless(leave, 0, rows, squares, acc);
}

void whiten(const double* lanes, std::size_t rows, std::size_t d, const double* factor, double* z) {
  by_forms(d, [&]<int forms>(std::size_t i) {
    for (std::size_t g = 0; g < groups_of(rows); ++g) {
      put_forms<forms>(factor, d, i, lanes + g * d * kGroup, z + g * d * kGroup);
    }
  });
}

void add_distances(const double* z, std::size_t rows, std::uint64_t leave, std::size_t d, const double* centre,
                   const double* constant, std::size_t classes, double* acc) {
  by_forms(classes, [&]<int forms>(std::size_t c) {
    for (std::size_t g = 0; g < groups_of(rows); ++g) {
      Vec sums[forms][kVecs] = {};
      const double* at = z + g * d * kGroup;
      for (std::size_t i = 0; i < d; ++i, at += kGroup) {
        for (int m = 0; m < forms; ++m) {
          const Vec shift = set(centre[(c + static_cast<std::size_t>(m)) * d + i]);
          for (int q = 0; q < kVecs; ++q) {
            const Vec t = load(at + q * W) - shift;
            sums[m][q] += t * t;
          }
        }
      }
      for (int m = 0; m < forms; ++m) {
        for (int q = 0; q < kVecs; ++q) sums[m][q] = constant[c + static_cast<std::size_t>(m)] - 0.5 * sums[m][q];
      }
      add_terms<forms>(sums, g, rows, leave, acc + c * kRows);
    }
  });
}

void add_affine(const double* lanes, std::size_t rows, std::uint64_t leave, std::size_t d, const double* weight,
                const double* bias, std::size_t classes, double* acc) {
  by_forms(classes, [&]<int forms>(std::size_t c) {
    for (std::size_t g = 0; g < groups_of(rows); ++g) {
      Vec sums[forms][kVecs];
      for (int m = 0; m < forms; ++m) {
        for (int q = 0; q < kVecs; ++q) sums[m][q] = set(bias[c + static_cast<std::size_t>(m)]);
      }
      multiply<forms>(weight + c * d, d, d, lanes + g * d * kGroup, sums);
      add_terms<forms>(sums, g, rows, leave, acc + c * kRows);
    }
  });
}

}  // namespace tb::TB_ISA
