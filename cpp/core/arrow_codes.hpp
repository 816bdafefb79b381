// Categories of an Arrow column to codes.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "core/arrow.hpp"
#include "core/codes.hpp"
#include "core/dictionary.hpp"

namespace tb::arrow {

struct Encoding {
  Codes codes;
  std::unique_ptr<Dictionary> declared;  // of a dictionary column: all its values, in its own order
};

// Codes of the rows in `levels`; null and NaN are kMissing. A value that is no level yet is appended in the
// order of appearance if `grow`, else kUnseen. With `declare`, the values of a dictionary column are
// appended first, in the dictionary's order, whether a row holds them or not.
// Throws BadRow and BadValue (infinite) with the first such row and column `col`; `levels` is then spoilt.
Encoding encode(const Column& column, Dictionary& levels, bool grow, bool declare, std::size_t col);

// The same for many columns at once, by threads. Of several errors, the first column's is thrown.
std::vector<Encoding> encode(const std::vector<Column>& columns, std::vector<Dictionary>& levels, bool grow,
                             const std::vector<bool>& declare);

}  // namespace tb::arrow
