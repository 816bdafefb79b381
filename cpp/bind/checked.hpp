// What several binding files check in the same words, and codes and counts as what they are.
#pragma once
#include <cmath>

#include "bind/bind.hpp"

namespace tb::bind {

using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyCodes = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;   // uint8, uint16 or uint32
using AnyCounts = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // uint32 or float64
using OwnCounts = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void expect(bool fits, const char* otherwise) {
  if (!fits) throw nb::value_error(otherwise);
}

// Every one of them a finite number, and none below least.
inline bool all_at_least(const double* x, std::size_t n, double least) {
  for (std::size_t i = 0; i < n; ++i)
    if (!(x[i] >= least && std::isfinite(x[i]))) return false;
  return true;
}
inline bool all_at_least(const Doubles& x, double least) { return all_at_least(x.data(), x.shape(0), least); }

// Throws unless sizes are the numbers of cuts of d columns, and the cuts of each ascend.
void check_cuts(std::size_t d, const Sizes& sizes, const Doubles& cuts);

// f(pointer of the right type)
template <class F>
auto with_codes(const AnyCodes& codes, F&& f) {
  if (codes.dtype() == nb::dtype<std::uint8_t>()) return f(static_cast<const std::uint8_t*>(codes.data()));
  if (codes.dtype() == nb::dtype<std::uint16_t>()) return f(static_cast<const std::uint16_t*>(codes.data()));
  if (codes.dtype() == nb::dtype<std::uint32_t>()) return f(static_cast<const std::uint32_t*>(codes.data()));
  throw nb::type_error("codes must be uint8, uint16 or uint32");
}

template <class F>
auto with_counts(const nb::dlpack::dtype& type, const void* data, F&& f) {
  if (type == nb::dtype<std::uint32_t>()) return f(static_cast<const std::uint32_t*>(data));
  if (type == nb::dtype<double>()) return f(static_cast<const double*>(data));
  throw nb::type_error("counts must be uint32 or float64");
}

template <class A>
std::vector<std::remove_const_t<typename A::Scalar>> copy_of(const A& a) {
  return {a.data(), a.data() + a.shape(0)};
}

}  // namespace tb::bind
