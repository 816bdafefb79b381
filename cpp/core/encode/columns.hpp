// How the kernels see a table: n rows and d columns, each a pointer, a stride and a type.
// A NumPy matrix of any memory order and a list of separate columns look the same here.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tb {

enum class Dtype : std::uint8_t { f64, f32, i8, i16, i32, i64, u8, u16, u32, u64, b1 };

inline std::size_t item_size(Dtype t) {
  switch (t) {
    case Dtype::f64:
    case Dtype::i64:
    case Dtype::u64:
      return 8;
    case Dtype::f32:
    case Dtype::i32:
    case Dtype::u32:
      return 4;
    case Dtype::i16:
    case Dtype::u16:
      return 2;
    default:
      return 1;
  }
}

struct Column {
  const char* data;
  std::ptrdiff_t stride;  // bytes from one row to the next
  Dtype dtype;
};

// Does not own anything. row_major: all columns of one type, side by side in each row, so that row i
// starts at col[0].data + i * col[0].stride.
struct Columns {
  std::size_t n = 0;
  std::size_t d = 0;
  const Column* col = nullptr;
  bool row_major = false;
};

// Rows of doubles or floats that a kernel can read where they are.
inline bool readable_in_place(const Columns& x) {
  if (x.d == 0 || !x.row_major || (x.col[0].dtype != Dtype::f64 && x.col[0].dtype != Dtype::f32)) return false;
  const auto size = static_cast<std::ptrdiff_t>(item_size(x.col[0].dtype));
  return reinterpret_cast<std::uintptr_t>(x.col[0].data) % static_cast<std::uintptr_t>(size) == 0 &&
         x.col[0].stride % size == 0;
}

// Rows of a compressed sparse matrix. Index: i32 or i64; value: f64, f32, i64, i32 or u8.
struct Csr {
  std::size_t n = 0;
  std::size_t d = 0;
  const void* value = nullptr;
  const void* index = nullptr;
  const void* start = nullptr;
  Dtype value_type = Dtype::f64;
  Dtype index_type = Dtype::i32;
};

// A value that the model cannot take, with its place. The binding turns it into a Python exception,
// the caller in Python into a sentence with the column's name.
struct BadValue {
  enum Kind : int { infinite = 0, negative = 1, code = 2, overflow = 3, utf8 = 4 };
  Kind kind;
  std::size_t row;
  std::size_t col;
  double value;
};

}  // namespace tb
