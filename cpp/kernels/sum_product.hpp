// One step of variable elimination: the product of tables, summed over one of their axes.
#pragma once
#include <cstddef>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kSumProductPad = 8;  // doubles behind each table that may be read

// out[kept cell][class] = sum over x of the product of the factors. Cells of out: the last axis runs fastest.
struct SumProduct {
  std::size_t factors;
  const double* const* factor;  // each at its first cell; the classes of a cell side by side
  const std::size_t* step;      // (factors, axes + 1): in doubles, of each axis that is kept, then of that of x
  std::size_t axes;
  const std::size_t* size;  // of each axis that is kept
  std::size_t levels;       // of x
  std::size_t classes;
  double* out;
};

}  // namespace tb

// least and most: of each class, over the cells of out. at: room for factors + axes numbers.
TB_DECLARE(void, sum_product, (const SumProduct& s, std::size_t* at, double* least, double* most))
