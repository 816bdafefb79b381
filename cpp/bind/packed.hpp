// What the bindings of joint tables, networks and chains share: packed codes as what they are, and refusals.
#pragma once
#include "bind/bind.hpp"

namespace tb::bind {

using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Packed = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;     // uint8, uint16 or uint32
using AnyCounts = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // uint32 or float64

inline void expect(bool fits, const char* otherwise) {
  if (!fits) throw nb::value_error(otherwise);
}

// f(pointer of the right type)
template <class F>
void with_codes(const Packed& codes, F&& f) {
  if (codes.dtype() == nb::dtype<std::uint8_t>())
    f(static_cast<const std::uint8_t*>(codes.data()));
  else if (codes.dtype() == nb::dtype<std::uint16_t>())
    f(static_cast<const std::uint16_t*>(codes.data()));
  else if (codes.dtype() == nb::dtype<std::uint32_t>())
    f(static_cast<const std::uint32_t*>(codes.data()));
  else
    throw nb::type_error("codes must be uint8, uint16 or uint32");
}

template <class A>
std::vector<std::remove_const_t<typename A::Scalar>> copy_of(const A& a) {
  return {a.data(), a.data() + a.shape(0)};
}

}  // namespace tb::bind
