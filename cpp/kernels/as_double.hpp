// Doubles and floats as vectors of doubles. Only for files in cpp/kernels.
#pragma once
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

TB_INLINE Vec load_as_double(const double* x) { return load(x); }
TB_INLINE Vec load_as_double(const float* x) {
  typedef float Narrow __attribute__((vector_size(W * 4), aligned(4), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Narrow*>(x), Vec);
}

}  // namespace tb::TB_ISA
