// Counts of integer codes: the hot loops. A code x is counted in place x + 1 of its class's row of a table;
// place 0 is that of missing values (-1).
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

namespace tb {

// n codes of one column, with the class of each row.
struct Codes {
  const char* x;
  std::ptrdiff_t stride;
  Dtype dtype;
  std::size_t n;
  const std::uint32_t* cls;
  const double* w;  // or null
};

// Rows of 2^shift places. Rows 0, 1, 2, 3, 0, 1.. of the data go to copies 0, 1, 2, 3 of the table, `copy`
// places apart, so that equal codes in successive rows do not wait for each other; copy = 0: only one.
template <class N>
struct Places {
  N* table;
  int shift;
  std::size_t copy;
};

}  // namespace tb

// A number that no place needed by the codes exceeds (a missing value needs place 0, anything below -1 gives
// a huge number); not always the smallest such number, but below the same powers of two.
TB_DECLARE(std::uint64_t, most_place, (const Codes& c))
// The same for d columns side by side in rows: most[j] for column j.
TB_DECLARE(void, most_places,
           (const char* x, std::ptrdiff_t stride, Dtype dtype, std::size_t n, std::size_t d, std::uint64_t* most))
// Every place needed must exist.
TB_DECLARE(void, count_codes, (const Codes& c, const Places<std::uint32_t>& p))
TB_DECLARE(void, weigh_codes, (const Codes& c, const Places<double>& p))
