// The statistics of a kernel density: for each column and class the distinct values seen, each with its total weight.
// A weighted multiset can be added, subtracted and scaled exactly, and the density follows from it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/encode/values.hpp"

namespace tb {

// Entry e = column * K + class holds value[start[e] .. start[e + 1]), ascending and distinct, weight > 0.
struct KernelStatistics {
  std::vector<std::int64_t> start;
  std::vector<double> value;
  std::vector<double> weight;
};

// The values of one entry.
struct Multiset {
  const double* value;
  const double* weight;
  std::size_t size;
};

// Statistics that live in somebody else's arrays.
struct KernelView {
  const std::int64_t* start;
  const double* value;
  const double* weight;
  std::size_t entries;

  Multiset operator[](std::size_t e) const {
    return {value + start[e], weight + start[e], static_cast<std::size_t>(start[e + 1] - start[e])};
  }
};

// NaN is left out; -0 and 0 are one value. Throws BadValue (infinite), and std::invalid_argument as check_rows does.
KernelStatistics kernel_statistics(const Columns& x, const Rows& rows, std::size_t K);

// a and b together (sign > 0), or a without b. Throws std::invalid_argument if a does not hold all of b.
// Weights that were added in another order differ in their last bits, so what remains of a value after
// subtracting counts as nothing below 1e-9 of what was there.
KernelStatistics kernel_combine(const KernelView& a, const KernelView& b, int sign);

}  // namespace tb
