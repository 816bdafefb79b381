// What the bindings of categories share: levels as Python objects, codes as arrays.
#pragma once
#include "bind/bind.hpp"
#include "bind/level_list.hpp"
#include "core/encode/arrow.hpp"
#include "core/encode/codes.hpp"

namespace tb::bind {

// A NumPy array of `rows` items that keeps `owner` (made by new) alive.
template <class Owner>
nb::object codes_array(const void* data, std::size_t rows, Dtype dtype, Owner* owner) {
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

arrow::Column arrow_column(nb::handle x);  // throws nb::type_error if it is none

inline nb::object codes_array(Codes&& codes) {
  auto* held = new Codes(std::move(codes));
  return codes_array(held->data(), held->rows(), held->dtype(), held);
}

}  // namespace tb::bind
