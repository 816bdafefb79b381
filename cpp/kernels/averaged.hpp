// The hot loops of averaged dependence estimators: conditional probabilities out of counts, and their products over
// the columns of rows.
// Numbers come in lanes: one per class, padded to 2, 4 or 8. A product is kept as x * 2^(512 e), e <= 0, with x zero or
// in [2^-512, 1]: no logarithm is needed, no number of columns is too many, and since scaling by a power of two is
// exact, the bits do not depend on when it is done.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr int kScaleBits = 512;    // a unit of e
constexpr double kNothing = -1e9;  // e of the number zero: below all others
constexpr std::size_t kMostParents = 3;

// Where the counts of one child beside some parents lie: n(x, v) at joint + offset + x * stride + sum v[i] * step[i].
struct Family {
  std::size_t offset;
  std::size_t stride;
  std::size_t step[kMostParents];
  std::size_t total;  // where the sums over x lie, with the axis of x left out; or kNoTotal
  bool child;         // false: this column is a parent itself
};
constexpr std::size_t kNoTotal = ~std::size_t{0};

// The levels of a column that rows have, each once.
struct Met {
  const std::uint32_t* level;  // null: all levels
  std::size_t count;
};

// P(child | class, parents) of all children beside one combination of parents' levels.
struct CellFill {
  const void* joint;  // (classes, cells), from the class of the first lane on
  bool whole;         // uint32, not double
  std::size_t cells;
  std::size_t classes;  // lanes in use
  std::size_t lanes;
  std::size_t d;
  const Family* family;      // of each column
  const std::size_t* first;  // its first level
  const std::size_t* value;  // the levels of the parents
  std::size_t parents;
  const double* levels;  // how many levels share the probability; with alpha: Laplace
  double alpha;
  const double* concentration;  // or null. Back-off: p holds the estimate with a parent fewer
  double removed;               // taken from each count
  const double* totals;         // (…, of_totals), from the class of the first lane on; see Family::total
  std::size_t of_totals;        // classes of the totals
  const Met* met;               // of each column; null: all levels of all
  double* p;                    // (levels of all columns, lanes)
};

// Columns whose factors are multiplied with one another before a row's product takes them: one look-up instead of
// several. A code counts the combinations of their levels, each column with one level more for a missing value.
constexpr std::size_t kMostTogether = 4;
struct Bundle {
  std::size_t columns;  // 1: it has no table of its own
  std::size_t column[kMostTogether];
  std::size_t at;  // the first entry of its table
};

// The product of the entries of table that the codes of a row name.
struct Products {
  const void* code;  // (rows, factors), places in table; 2 or 4 bytes each
  bool wide;
  std::size_t factors;
  std::size_t lanes;
  const double* table;
  const double* start;  // the first factor: x, then e
  std::size_t run;      // how many factors cannot leave the range of doubles, see safe_run; 0: not even one
};

}  // namespace tb

TB_DECLARE(void, fill_cell, (const CellFill& f))
// How many numbers in [0, 1] from these, times one in [2^-512, 1], stay normal or zero; 0 if not even one.
TB_DECLARE(std::size_t, safe_run, (const double* p, std::size_t count))
// The tables of bundles of several columns: p (entries, lanes) at their places, out of its entries from 0 on.
// first: the first level of each column; p of a missing value is 1.
TB_DECLARE(void, fill_bundles,
           (const Bundle* bundle, std::size_t bundles, const std::size_t* first, std::size_t lanes, double* p))
// sum[row] += the product; sum is (rows, 2 * lanes): x, then e. run > 0, and the factors are those of the bundles.
TB_DECLARE(void, add_products, (const Products& t, const std::uint32_t* row, std::size_t rows, double* sum))
// The same to the bit without the tables of the bundles: the factors are those of all columns. run: any.
TB_DECLARE(void, add_single_products,
           (const Products& t, const Bundle* bundle, std::size_t bundles, const std::uint32_t* row, std::size_t rows,
            double* sum))
