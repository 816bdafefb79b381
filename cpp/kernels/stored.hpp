// Stored values of sparse rows that are no counts: seen in their bits, at an addition and an or for each, where
// comparisons of floating numbers would cost more than adding them up. Only for files in cpp/kernels.
#pragma once
#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

template <class T>
constexpr bool is_floating = static_cast<T>(0.5) != T{};

template <std::size_t bytes>
struct Word;
template <>
struct Word<1> {
  using type = std::uint8_t;
};
template <>
struct Word<4> {
  using type = std::uint32_t;
};
template <>
struct Word<8> {
  using type = std::uint64_t;
};

// Or-ed together over some values: the highest bit is set if one of them is not finite or (unless signs may be)
// negative, or is -0.0, which only fits() tells from a negative number.
template <class T>
struct Doubts {
  using U = typename Word<sizeof(T)>::type;
  U all = 0;

  template <bool signs>
  inline __attribute__((always_inline)) void look(T x) {
    U u;
    __builtin_memcpy(&u, &x, sizeof x);
    if constexpr (is_floating<T>) {
      constexpr U exponent_one = U{1} << (sizeof(T) == 8 ? 52 : 23);  // carries the exponent of inf and NaN to the top
      constexpr U no_sign = static_cast<U>(~U{0}) >> 1;
      all |= signs ? (u & no_sign) + exponent_one : u | (u + exponent_one);
    } else if constexpr (!signs && static_cast<T>(-1) < T{}) {
      all |= u;
    }
  }
  bool any() const { return is_floating<T> || static_cast<T>(-1) < T{} ? all >> (8 * sizeof(T) - 1) != 0 : false; }
};

// Finite and (unless signs may be) not negative: exactly.
template <bool signs, class T>
bool fits(const T* x, std::size_t n) {
  bool bad = false;
  for (std::size_t k = 0; k < n; ++k) {
    if constexpr (is_floating<T>) bad |= !(x[k] - x[k] == T{});
    if constexpr (!signs && static_cast<T>(-1) < T{}) bad |= x[k] < T{};
  }
  return !bad;
}

// The same, fast where all is well.
template <bool signs, class T>
bool fits_fast(const T* x, std::size_t n) {
  Doubts<T> d;
  for (std::size_t k = 0; k < n; ++k) d.template look<signs>(x[k]);
  return !d.any() || fits<signs>(x, n);
}

}  // namespace
}  // namespace tb::TB_ISA
