// From a Dtype known at run time to a C++ type. Only for files in cpp/kernels: everything here is static.
#pragma once
#include "core/encode/columns.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

template <class T>
struct Type {
  using type = T;
};

// f(Type<T>{}) with the C++ type of a column. Booleans are bytes.
template <class F>
TB_INLINE void with_type(Dtype t, F&& f) {
  switch (t) {
    case Dtype::f64:
      return f(Type<double>{});
    case Dtype::f32:
      return f(Type<float>{});
    case Dtype::i8:
      return f(Type<std::int8_t>{});
    case Dtype::i16:
      return f(Type<std::int16_t>{});
    case Dtype::i32:
      return f(Type<std::int32_t>{});
    case Dtype::i64:
      return f(Type<std::int64_t>{});
    case Dtype::u8:
    case Dtype::b1:
      return f(Type<std::uint8_t>{});
    case Dtype::u16:
      return f(Type<std::uint16_t>{});
    case Dtype::u32:
      return f(Type<std::uint32_t>{});
    case Dtype::u64:
      return f(Type<std::uint64_t>{});
  }
}

template <class T>
TB_INLINE T value(const char* p) {  // at any address
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

}  // namespace
}  // namespace tb::TB_ISA

// The same for functions that return something.
#define TB_INTEGER_CASES(f, ...)          \
  case Dtype::i8:                         \
    return f<std::int8_t>(__VA_ARGS__);   \
  case Dtype::i16:                        \
    return f<std::int16_t>(__VA_ARGS__);  \
  case Dtype::i32:                        \
    return f<std::int32_t>(__VA_ARGS__);  \
  case Dtype::i64:                        \
    return f<std::int64_t>(__VA_ARGS__);  \
  case Dtype::u16:                        \
    return f<std::uint16_t>(__VA_ARGS__); \
  case Dtype::u32:                        \
    return f<std::uint32_t>(__VA_ARGS__); \
  case Dtype::u64:                        \
    return f<std::uint64_t>(__VA_ARGS__); \
  default:                                \
    return f<std::uint8_t>(__VA_ARGS__);

// return f<type>(...) for any column, or for a column of integers or booleans
#define TB_BY_TYPE(dtype, f, ...)      \
  switch (dtype) {                     \
    case Dtype::f64:                   \
      return f<double>(__VA_ARGS__);   \
    case Dtype::f32:                   \
      return f<float>(__VA_ARGS__);    \
      TB_INTEGER_CASES(f, __VA_ARGS__) \
  }
#define TB_BY_INTEGER_TYPE(dtype, f, ...) \
  switch (dtype) { TB_INTEGER_CASES(f, __VA_ARGS__) }
