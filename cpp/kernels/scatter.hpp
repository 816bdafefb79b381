// Sums of products of columns, z'z, over a pack of rows: the register-blocked heart of every covariance.
// A pack holds its rows centred, cut into panels of panel_width() columns: panel p is an array (rows, width) that
// starts at p * width * stride, stride being the pack's room for rows. Columns beyond d are zero.
#pragma once
#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

namespace tb {

// The panels of one tile, of so many rows, fill the first-level cache. Not a power of two: panels that lie such a
// number of bytes apart would compete for the same places in it.
constexpr std::size_t kPackRows = 250;

// Rows side by side in memory, doubles or floats.
struct RowsAt {
  const char* x;
  std::ptrdiff_t stride;
  Dtype dtype;
  std::size_t d;
};

// What is to be packed: rows row[0..count) with their class and the root of their weight (null: 1).
struct RowPick {
  RowsAt from;
  const std::uint32_t* row;
  const std::uint32_t* cls;
  const double* root;
  std::size_t count;
};

struct Packed {
  std::size_t rows;  // rows packed; the others have a value that is not finite
  bool infinite;     // one of those has an infinity
};

// A finished pack.
struct Pack {
  const double* panels;
  std::size_t stride;
  std::size_t rows;
  std::size_t d;
};

}  // namespace tb

TB_DECLARE(std::size_t, panel_width, ())

// Packs root * (x - shift[cls]) of the rows without missing values; shift is (K, d). kept[k]: which of the picked rows
// became row k. room: the rows between panels.
TB_DECLARE(Packed, pack_centred,
           (const RowPick& pick, const double* shift, std::size_t room, double* panels, std::uint32_t* kept))

// The same for rows with missing values: a missing value becomes 0. present: a second pack of the same form, root where
// there is a value and 0 where there is none. True if there is an infinity.
TB_DECLARE(bool, pack_with_missing,
           (const RowPick& pick, const double* shift, std::size_t room, double* panels, double* present))

// sums[cls[k] * d + j] += root[k] * z[k, j] for panel p's columns: class by class, the weighted sum of x - shift.
TB_DECLARE(void, add_panel_sums,
           (const Pack& z, std::size_t p, const std::uint32_t* cls, const double* root, double* sums))

// s[i * d + j] += sum_k z[k, i] z[k, j] for i in panels [from, to), j <= i. (Some j > i are written too; what is above
// the diagonal means nothing.) While at it, fetches `next` into the cache; null: nothing.
TB_DECLARE(void, add_products, (const Pack& z, std::size_t from, std::size_t to, double* s, const RowPick* next))

// s[i * d + j] += sum_k a[k, i] b[k, j] for i in panels [from, to) and all j.
TB_DECLARE(void, add_cross_products, (const Pack& a, const Pack& b, std::size_t from, std::size_t to, double* s))

// total += part in the lower triangle of d x d matrices; part becomes 0.
TB_DECLARE(void, move_lower, (double* part, std::size_t d, double* total))
