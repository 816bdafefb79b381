// Joint tables (core/counts/joint_tables.hpp): packing the codes, counting, moving to other levels, information of
// pairs.
#pragma once
#include "core/encode/columns.hpp"
#include "core/counts/joint_tables.hpp"

namespace tb {

// The bytes of a packed code of columns with at most this many levels.
constexpr std::size_t code_bytes(std::uint64_t levels) { return levels <= 0xFF ? 1 : levels <= 0xFFFF ? 2 : 4; }

struct Packed {
  const void* code;   // column j of the n rows at code + j * n * bytes
  std::size_t bytes;  // of one code: 1, 2 or 4
  std::size_t n;
};

// Packs rows [first, first + rows) of integer columns: a code outside [0, size[j]) becomes kNoCode, and unseen[j] is
// set if it was not `missing` there: -1, or nothing at all if the codes are raw. bytes: as code_bytes of the sizes.
void pack_codes(const Columns& cols, const std::int64_t* size, bool raw, std::size_t first, std::size_t rows,
                std::size_t bytes, void* out, bool* unseen);

// Rows with a class and, if w is not null, a weight; a row without a class (below 0) or with weight 0 does not count.
struct LabelledCodes {
  Packed x;
  const std::int32_t* y;
  const double* w;  // or null
  std::size_t classes;
};

// out (classes, cells) += the count (or weight) of every cell. Doubles: the cell's weights in the order of the rows.
// Whole numbers take no weights. A code beyond its column's levels is missing. Throws std::invalid_argument for a bad
// class or weight, with nothing added yet. The answer does not depend on the number of threads.
void count_tables(const LabelledCodes& rows, const Tables& tables, std::uint32_t* out);
void count_tables(const LabelledCodes& rows, const Tables& tables, double* out);

// out (classes, to.cells()) = the tables with level v of column j renamed map[j][v] (map[j] null: v). Levels that get
// one name are added up. Both have the same tables; every new name must be below the new size.
void move_tables(const Tables& from, const Tables& to, const std::int64_t* const* map, std::size_t classes,
                 const std::uint32_t* counts, std::uint32_t* out);
void move_tables(const Tables& from, const Tables& to, const std::int64_t* const* map, std::size_t classes,
                 const double* counts, double* out);

// Mutual information in nats, estimated by the shares of counts (classes, cells): I(x_i; x_j | y) of a table of two
// columns, NaN of another. N: std::uint32_t or double.
template <class N>
void pair_information(const Tables& tables, std::size_t classes, const N* counts, double* out);
// I(x_j; y) of every column; single (classes, sum of sizes).
void class_information(std::size_t d, const std::int64_t* size, std::size_t classes, const double* single, double* out);

}  // namespace tb
