// Real columns as children of a network: x | class, cell of the discrete parents ~ Normal(mean, variance).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/counts/joint_tables.hpp"

namespace tb {

constexpr double kLeastLog = -1e300;  // a log density is at least this: sums of them stay apart from log 0

// The normal densities of some real columns, and the values of the rows in hand.
struct RealFamilies {
  std::size_t count = 0;
  std::size_t classes = 0;
  const std::int32_t* parent = nullptr;        // discrete columns
  const std::int64_t* parent_start = nullptr;  // of each real column
  std::vector<std::size_t> offset;             // its first cell; the first parent runs slowest
  const double* terms = nullptr;               // (cells, 3, classes): mean, sqrt(1 / (2 variance)), log of the norm
  const double* value = nullptr;               // (count, rows); NaN is missing
  std::size_t rows = 0;

  bool missing(std::size_t f, std::size_t row) const { return value[f * rows + row] != value[f * rows + row]; }

  // out[c] += log p(the value of the row | class c, cell of the parents). A scale of 0: the column says nothing.
  void add(std::size_t f, std::size_t cell, std::size_t row, double* out) const {
    const double x = value[f * rows + row];
    const double* mean = terms + (offset[f] + cell) * 3 * classes;
    const double *scale = mean + classes, *norm = scale + classes;
    for (std::size_t c = 0; c < classes; ++c) {
      const double z = (x - mean[c]) * scale[c];
      const double log = norm[c] - z * z;
      out[c] += log > kLeastLog ? log : kLeastLog;
    }
  }
};

// A row that is too far from every class for doubles: the classes that are the least far, in long double, get
// kLeastLog, the others log 0. code[j] < 0: a missing parent, which counts as its likeliest level.
void mend_far_row(const RealFamilies& reals, const std::int64_t* size, const std::int64_t* code, std::size_t row,
                  double* out);

inline bool is_far(const double* out, std::size_t classes) {
  for (std::size_t c = 0; c < classes; ++c) {
    if (out[c] > kLeastLog / 2) return false;
  }
  return true;
}

// Adds the densities of the rows [r0, r0 + m) to out (m, classes). What is missing adds nothing, nor does a value whose
// parent is missing. No far row is mended here. codes: packed, see core/counts/joint_tables.hpp, n of each column.
template <class T>
void add_reals(const RealFamilies& reals, const std::int64_t* size, const T* codes, std::size_t n, std::size_t r0,
               std::size_t m, double* out) {
  for (std::size_t f = 0; f < reals.count; ++f) {
    const std::int64_t from = reals.parent_start[f], to = reals.parent_start[f + 1];
    for (std::size_t r = 0; r < m; ++r) {
      bool known = !reals.missing(f, r0 + r);
      std::size_t cell = 0;
      for (std::int64_t i = from; known && i < to; ++i) {
        const T v = codes[static_cast<std::size_t>(reals.parent[i]) * n + r0 + r];
        known = v != kNoCode<T>;
        cell = cell * static_cast<std::size_t>(size[reals.parent[i]]) + v;
      }
      if (known) reals.add(f, cell, r0 + r, out + r * reals.classes);
    }
  }
}

// out (n, classes): the sum of the densities of n rows, in parallel.
template <class T>
void real_scores(const RealFamilies& reals, const std::int64_t* size, const T* codes, std::size_t n, double* out);

}  // namespace tb
