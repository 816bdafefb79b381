// What the two bindings of categories share: levels as Python objects, codes as arrays.
#pragma once
#include "bind/bind.hpp"
#include "core/arrow.hpp"
#include "core/codes.hpp"
#include "core/dictionary.hpp"

namespace tb::bind {

// From a sequence of str, int, float and bool; the first gets code 0.
Dictionary dictionary_of(const nb::sequence& levels);

// What a number level is to Python: that depends on the column it came from.
enum class NumberKind { boolean, integer, real };

// The levels from code `first` on, in the order of their codes.
nb::list levels_from(const Dictionary& levels, std::size_t first, NumberKind kind);

// A NumPy array of `rows` items that keeps `owner` (made by new) alive.
template <class Owner>
nb::object array_of(const void* data, std::size_t rows, Dtype dtype, Owner* owner) {
  nb::capsule keep(owner, [](void* p) noexcept { delete static_cast<Owner*>(p); });
  using Code = nb::dlpack::dtype_code;
  const bool real = dtype == Dtype::f64 || dtype == Dtype::f32;
  const bool natural = dtype == Dtype::u8 || dtype == Dtype::u16 || dtype == Dtype::u32 || dtype == Dtype::u64;
  const nb::dlpack::dtype type{static_cast<std::uint8_t>(real      ? Code::Float
                                                         : natural ? Code::UInt
                                                                   : Code::Int),
                               static_cast<std::uint8_t>(8 * item_size(dtype)), 1};
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, 1, &rows, keep, nullptr, type));
}

inline nb::object array_of(Codes&& codes) {
  auto* held = new Codes(std::move(codes));
  return array_of(held->data(), held->rows(), held->dtype(), held);
}

}  // namespace tb::bind
