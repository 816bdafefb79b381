// What one distribution knows of a row that comes as a dict; see one_row.cpp.
#pragma once
#include <vector>

#include "bind/row_reader.hpp"

namespace tb::bind {

// What a distribution knows of its columns: the base of all fast paths of this module.
struct FastRowTerm {
  virtual ~FastRowTerm() = default;
  virtual RowTerm& term() = 0;
  virtual std::size_t classes() const = 0;
  virtual Place place(std::size_t i) = 0;
  std::vector<std::size_t> columns;  // positions in the row
};

using Columns1 = std::vector<std::size_t>;

}  // namespace tb::bind
