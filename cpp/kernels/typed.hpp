// From a type known at run time to one known to the compiler. Only for files in cpp/kernels.
#pragma once
#include "core/columns.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

template <class T>
TB_INLINE T value(const char* p) {  // columns of foreign tables need not be aligned
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace tb::TB_ISA

#define TB_INTEGER_CASES(f, ...)                                         \
    case Dtype::i8: return f<std::int8_t>(__VA_ARGS__);                  \
    case Dtype::i16: return f<std::int16_t>(__VA_ARGS__);                \
    case Dtype::i32: return f<std::int32_t>(__VA_ARGS__);                \
    case Dtype::i64: return f<std::int64_t>(__VA_ARGS__);                \
    case Dtype::u16: return f<std::uint16_t>(__VA_ARGS__);               \
    case Dtype::u32: return f<std::uint32_t>(__VA_ARGS__);               \
    case Dtype::u64: return f<std::uint64_t>(__VA_ARGS__);               \
    default: return f<std::uint8_t>(__VA_ARGS__);

// return f<type>(...) for any column, or for a column of integers or booleans
#define TB_BY_TYPE(dtype, f, ...)                                        \
  switch (dtype) {                                                       \
    case Dtype::f64: return f<double>(__VA_ARGS__);                      \
    case Dtype::f32: return f<float>(__VA_ARGS__);                       \
    TB_INTEGER_CASES(f, __VA_ARGS__)                                     \
  }
#define TB_BY_INTEGER_TYPE(dtype, f, ...)                                \
  switch (dtype) {                                                       \
    TB_INTEGER_CASES(f, __VA_ARGS__)                                     \
  }
