// Numbers of an Arrow column as an array.
#pragma once
#include <cstddef>
#include <memory>

#include "core/arrow.hpp"

namespace tb::arrow {

struct NumberArray {
  const void* data = nullptr;
  std::size_t rows = 0;
  Dtype dtype = Dtype::f64;
  bool has_null = false;               // a float's NaN is not looked for
  std::unique_ptr<char[]> copy;        // what holds data: either this
  std::unique_ptr<Owned<Array>> kept;  // or the Arrow chunk itself
};

// Without nulls, the numbers in their own type: the chunk's own memory if there is one chunk, else a copy.
// With nulls, and for half floats and decimals, float64 with NaN. Booleans: int8 0 and 1, null -1.
// The null type: float64, all NaN. Texts and dictionaries: throws Unsupported.
NumberArray numbers(Column column);

}  // namespace tb::arrow
