// Codes of rows counted two neighbouring columns at a time: a counter for each pair of levels, by class. Half as many
// counters are raised as there are cells, and those of one row are all different: none waits for another.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

namespace tb {

// n rows whose first 2 * pairs columns lie side by side, with the class of each.
struct PairRows {
  const char* x;
  std::ptrdiff_t stride;
  Dtype dtype;
  std::size_t n, pairs;
  const std::uint32_t* cls;
};

// Column j has 2^bits[j] levels. Codes a and b of pair p, in a row of class c, count at place
// base[c * step + p * missing value] + a + (b << bits[2p]).
struct PairPlaces {
  const std::uint8_t* bits;
  const std::uint32_t* base;
  std::size_t step;
  std::uint32_t* table;
};

// Codes of 8 bytes have a lane each, others a lane for two.
constexpr std::size_t pair_stride(std::size_t item_size) { return item_size == 8 ? 2 : 1; }

// The least that can be read of a row.
constexpr std::size_t shortest_pairs(std::size_t item_size) { return item_size == 8 ? 16 : 8; }
constexpr std::size_t kMostPairs = 256;

}  // namespace tb

// Counts rows from the first on, up to some of which one has a code without a place; returns how many.
TB_DECLARE(std::size_t, count_pairs, (const PairRows& r, const PairPlaces& to))
