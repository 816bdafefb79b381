// Class labels: codes from integers, weights of classes, rows grouped by class.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/encode/columns.hpp"

namespace tb {

// Throw std::invalid_argument: a class code that is too large, a weight that is negative or not finite.
[[noreturn]] void throw_class(std::int32_t c, std::size_t classes);
[[noreturn]] void throw_weight();
inline void check_class(std::int32_t c, std::size_t classes) {
  if (c >= 0 && static_cast<std::size_t>(c) >= classes) throw_class(c, classes);
}
inline void check_weight(double w) {
  if (!(w >= 0.0 && w <= std::numeric_limits<double>::max())) throw_weight();
}

// The rows that count (y >= 0, w != 0), class by class, in each class in their order:
// those of class c are row[start[c]] .. row[start[c + 1] - 1].
struct ClassList {
  std::vector<std::size_t> start;
  std::vector<std::uint32_t> row;
};
ClassList rows_by_class(const std::int32_t* y, const double* w, std::size_t n, std::size_t classes);

// out[c] = total weight of class c.
void class_weights(const std::int32_t* y, const double* w, std::size_t n, std::size_t classes, double* out);

// codes[i] = place of y's value i among the distinct values, which are returned in ascending order.
// Throws std::invalid_argument for an unsigned value beyond 2^63 - 1 and for a column of floats.
std::vector<std::int64_t> integer_levels(const Column& y, std::size_t n, std::int32_t* codes);

}  // namespace tb
