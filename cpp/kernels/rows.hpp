// A block of rows to be added to the accumulators of their classes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/encode/columns.hpp"

namespace tb {

// Row row[k] starts at x + row[k] * stride and holds d values of one type (f64 or f32) side by side.
// It belongs to the accumulators number slot[k] and weighs w[k] (or 1, if w is null).
struct RowList {
  const char* x;
  std::ptrdiff_t stride;
  Dtype dtype;
  std::size_t d;
  std::size_t m;  // how many rows
  const std::uint32_t* row;
  const std::uint32_t* slot;
  const double* w;
  const char* ahead;  // memory that will be wanted next, or null
  bool scattered;     // the rows lie all over memory
};

}  // namespace tb
