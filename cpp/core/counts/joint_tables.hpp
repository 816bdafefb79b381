// Joint tables of several columns: where the count of a combination of levels lies.
// A table belongs to a set of columns, named in ascending order; the last one runs fastest. The tables follow one
// another in one array of (classes, cells). Rows in which one of the columns is missing are in no cell.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace tb {

struct Tables {
  std::size_t d = 0;                     // columns of the data
  const std::int64_t* size = nullptr;    // levels of each
  std::size_t count = 0;                 // how many tables
  const std::int32_t* column = nullptr;  // the columns of all tables, one after another
  const std::int64_t* start = nullptr;   // table t has columns [start[t], start[t + 1])
  std::vector<std::size_t> offset;       // its cells are [offset[t], offset[t + 1])

  Tables(std::size_t columns, const std::int64_t* sizes, std::size_t tables, const std::int32_t* flat,
         const std::int64_t* starts)
      : d(columns), size(sizes), count(tables), column(flat), start(starts), offset(tables + 1, 0) {
    for (std::size_t t = 0; t < tables; ++t) {
      std::size_t cells = 1;
      for (std::int64_t i = starts[t]; i < starts[t + 1]; ++i) {
        const std::int32_t j = flat[i];
        if (j < 0 || static_cast<std::size_t>(j) >= columns || (i > starts[t] && flat[i - 1] >= j)) {
          throw std::invalid_argument("the columns of a table must be named in ascending order");
        }
        if (__builtin_mul_overflow(cells, static_cast<std::size_t>(sizes[j]), &cells)) {
          throw std::length_error("a table has too many cells");
        }
      }
      if (__builtin_add_overflow(offset[t], cells, &offset[t + 1])) throw std::length_error("too many cells");
    }
  }

  std::size_t cells() const { return offset[count]; }
  std::size_t order(std::size_t t) const { return static_cast<std::size_t>(start[t + 1] - start[t]); }
  const std::int32_t* columns(std::size_t t) const { return column + start[t]; }
};

// Packed codes: column j of n rows at codes + j * n, of the smallest unsigned type that holds every level. All bits
// set: missing, or a level without a place in the tables.
template <class T>
constexpr T kNoCode = static_cast<T>(~T{0});

}  // namespace tb
