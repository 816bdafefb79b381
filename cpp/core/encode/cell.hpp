// One value of a table, whatever its type: for the slow paths (errors, overflow).
#pragma once
#include <cstring>

#include "core/encode/columns.hpp"

namespace tb {

template <class T>
double number_at(const char* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return static_cast<double>(x);
}

inline double number_at(const char* p, Dtype t) {
  switch (t) {
    case Dtype::f64:
      return number_at<double>(p);
    case Dtype::f32:
      return number_at<float>(p);
    case Dtype::i8:
      return number_at<std::int8_t>(p);
    case Dtype::i16:
      return number_at<std::int16_t>(p);
    case Dtype::i32:
      return number_at<std::int32_t>(p);
    case Dtype::i64:
      return number_at<std::int64_t>(p);
    case Dtype::u16:
      return number_at<std::uint16_t>(p);
    case Dtype::u32:
      return number_at<std::uint32_t>(p);
    case Dtype::u64:
      return number_at<std::uint64_t>(p);
    default:
      return number_at<std::uint8_t>(p);
  }
}

inline double cell(const Columns& cols, std::size_t row, std::size_t j) {
  const Column& c = cols.col[j];
  return number_at(c.data + static_cast<std::ptrdiff_t>(row) * c.stride, c.dtype);
}

}  // namespace tb
