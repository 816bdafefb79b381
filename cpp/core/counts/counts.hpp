// Counts of integer codes of every class and column.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/counts/class_rows.hpp"

namespace tb {

struct CodeCounts {
  std::vector<std::int64_t> size;          // of each column
  std::vector<std::vector<double>> table;  // of each column: (classes, size)
  std::size_t total() const;               // sum of the sizes
  // (classes, total()): column j from sum(size[:j]) on.
  void write(std::size_t classes, double* out) const;
};

// A negative code is missing. Column j has at least size[j] levels; a code beyond makes it larger, up to
// `limit` levels; then BadValue code. All columns must be of integers or booleans.
CodeCounts counts(const Labelled& t, const std::int64_t* size, std::int64_t limit);

// The same without weights, if every number of every row, of those that do not count too, lies in [0, limit); else
// nothing: for who would otherwise read the table once more, to see whether its numbers are codes.
std::optional<CodeCounts> counts_of_codes(const Labelled& t, const std::int64_t* size, std::int64_t limit);

}  // namespace tb
