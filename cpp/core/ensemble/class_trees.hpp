// Class trees: oblivious decision trees for P(class | x), grown greedily by leave-one-out log-likelihood.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/ensemble/bins.hpp"
#include "core/networks/back_off.hpp"

namespace tb {

struct ClassTreeGrowth {
  std::size_t rows, classes;
  const std::int32_t* y;       // rows; below 0: the row takes no part
  const double* w;             // rows, or null
  std::size_t levels;          // entries of a map but for the last
  const std::int32_t* column;  // of each split
  const std::uint8_t* map;     // (splits, levels + 1): the bin of each level, the last for missing ones; or kNoBin
  const std::int32_t* bins;    // of each split
  std::size_t members, depth, tries;
  const std::int32_t* candidate;  // (members, depth, tries): splits, or -1
  Grid grid;
  double most_cells;
  const bool* part = nullptr;  // (members, rows): the rows that each member looks at; null: all
};

// chosen (members, depth): the split that is taken at each level, or -1. A member begins with one configuration and
// p_t = (n(y) - u + 1/classes) / (n - u + 1), u = min(w_t, 1) being what row t itself adds. A split cuts each
// configuration U into configurations by bin, and p_t becomes (n(U, y) - u + a p_t) / (n(U) - u + a); it stays if the
// row is alone in U. The candidate and concentration a with the largest sum of w_t log p_t are taken if that rises by
// more than 1/2, unless the product of bins and classes went beyond most_cells. Rows without a bin keep their p and are
// in no configuration from then on. codes: (columns, rows), kNoCode<T> where missing, else below levels.
template <class T>
void grow_class_trees(const ClassTreeGrowth& g, const T* codes, std::int32_t* chosen);

// Throws std::invalid_argument if a code of the columns is neither missing nor below levels.
template <class T>
void check_class_tree_codes(const ClassTreeGrowth& g, const T* codes, std::size_t columns);

}  // namespace tb
