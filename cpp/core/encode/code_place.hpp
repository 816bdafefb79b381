// Where the code of one cell is counted, of whatever type it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/encode/columns.hpp"

namespace tb {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

template <class T>
std::uint64_t place_as(const char* p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  if constexpr (std::numeric_limits<T>::is_signed)
    return v < -1 ? kHuge : static_cast<std::uint64_t>(static_cast<std::int64_t>(v) + 1);
  const auto u = static_cast<std::uint64_t>(v);
  return u >= kHuge - 1 ? kHuge - 1 : u + 1;
}

// Where a code belongs: code + 1, 0 if it is -1, kHuge if it is another negative number (missing as well).
inline std::uint64_t place_at(const Column& c, std::size_t i) {
  const char* p = c.data + static_cast<std::ptrdiff_t>(i) * c.stride;
  switch (c.dtype) {
    case Dtype::i8:
      return place_as<std::int8_t>(p);
    case Dtype::i16:
      return place_as<std::int16_t>(p);
    case Dtype::i32:
      return place_as<std::int32_t>(p);
    case Dtype::i64:
      return place_as<std::int64_t>(p);
    case Dtype::u16:
      return place_as<std::uint16_t>(p);
    case Dtype::u32:
      return place_as<std::uint32_t>(p);
    case Dtype::u64:
      return place_as<std::uint64_t>(p);
    default:
      return place_as<std::uint8_t>(p);
  }
}

}  // namespace tb
