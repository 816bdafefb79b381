// Categories of an Arrow column to codes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/encode/arrow.hpp"
#include "core/encode/codes.hpp"
#include "core/encode/known_levels.hpp"

namespace tb::arrow {

struct Encoding {
  Codes codes;
  std::vector<std::int32_t> declared;  // the codes of all values of a dictionary column, if they were declared
};

// Codes of the rows in `levels`; null and NaN are kMissing. A value that is no level yet is added in the order of
// appearance if `grow`, else kUnseen. With `grow` and `declare`, the values of a dictionary column are added first,
// in the dictionary's order, whether a row holds them or not.
// Throws BadRow and BadValue (infinite) with the first such row and column `col`; what was added is then spoilt.
Encoding encode(const Column& column, Known& levels, bool grow, bool declare, std::size_t col);

// The same for many columns at once, by threads. Of several errors, the first column's is thrown.
std::vector<Encoding> encode(const std::vector<Column>& columns, std::vector<Known>& levels, bool grow,
                             const std::vector<bool>& declare);

}  // namespace tb::arrow
