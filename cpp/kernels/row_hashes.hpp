// The hashes of values that rows are sampled by.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

inline std::uint64_t mixed(std::uint64_t x) {
  x *= 0x9E3779B97F4A7C15U;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 32;
  return x;
}

// Of a value to six digits of the largest one; all NaN are the same, and so are 0 and -0.
inline std::uint64_t value_hash(double x, double largest) {
  const auto value = static_cast<float>(x / largest + 0.0);
  return mixed(value == value ? std::bit_cast<std::uint32_t>(value) : 1U);
}

}  // namespace tb

// The largest |x| that is finite, 0 if there is none.
TB_DECLARE(double, largest_size, (const double* x, std::size_t count))
// The sum of value_hash of all values.
TB_DECLARE(std::uint64_t, sum_value_hashes, (const double* x, std::size_t count, double largest))
// out += mixed(value_hash + shift)
TB_DECLARE(void, add_value_hashes,
           (const double* x, std::size_t count, double largest, std::uint64_t shift, std::uint64_t* out))
