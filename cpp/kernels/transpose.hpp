// Small square transposes in registers, and the two moves built on them: rows of numbers (one number per
// class) added into a block acc[c * kRows + r], and a block written out as rows.
// Only for files in cpp/kernels: everything here is static.
#pragma once
#include "core/scoring/part.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

#if defined(__AVX2__)
constexpr std::size_t Q = 4;  // the square is Q x Q
typedef double Quad __attribute__((vector_size(32)));
// v[i][k] becomes v[k][i].
TB_INLINE void turn(Quad (&v)[Q]) {
  const Quad a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6);
  const Quad b = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
  const Quad c = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6);
  const Quad d = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
#else
constexpr std::size_t Q = 2;
typedef double Quad __attribute__((vector_size(16)));
TB_INLINE void turn(Quad (&v)[Q]) {
  const Quad a = __builtin_shufflevector(v[0], v[1], 0, 2);
  v[1] = __builtin_shufflevector(v[0], v[1], 1, 3);
  v[0] = a;
}
#endif

TB_INLINE Quad quad(const double* p) {
  Quad v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
TB_INLINE void put(double* p, Quad v) { std::memcpy(p, &v, sizeof v); }

// acc[c * kRows + r] += from[r * step + c] for r < rows, c < classes.
static inline void add_rows(const double* from, std::size_t step, std::size_t rows, std::size_t classes, double* acc) {
  std::size_t r = 0;
  for (; r + Q <= rows; r += Q) {
    std::size_t c = 0;
    for (; c + Q <= classes; c += Q) {
      Quad v[Q];
      for (std::size_t i = 0; i < Q; ++i) v[i] = quad(from + (r + i) * step + c);
      turn(v);
      for (std::size_t k = 0; k < Q; ++k) {
        double* a = acc + (c + k) * kRows + r;
        put(a, quad(a) + v[k]);
      }
    }
    for (; c < classes; ++c) {
      for (std::size_t i = 0; i < Q; ++i) acc[c * kRows + r + i] += from[(r + i) * step + c];
    }
  }
  for (; r < rows; ++r) {
    for (std::size_t c = 0; c < classes; ++c) acc[c * kRows + r] += from[r * step + c];
  }
}

// to[r * classes + c] = acc[c * kRows + r].
static inline void write_rows(const double* acc, std::size_t rows, std::size_t classes, double* to) {
  std::size_t r = 0;
  for (; r + Q <= rows; r += Q) {
    std::size_t c = 0;
    for (; c + Q <= classes; c += Q) {
      Quad v[Q];
      for (std::size_t k = 0; k < Q; ++k) v[k] = quad(acc + (c + k) * kRows + r);
      turn(v);
      for (std::size_t i = 0; i < Q; ++i) put(to + (r + i) * classes + c, v[i]);
    }
    for (; c < classes; ++c) {
      for (std::size_t i = 0; i < Q; ++i) to[(r + i) * classes + c] = acc[c * kRows + r + i];
    }
  }
  for (; r < rows; ++r) {
    for (std::size_t c = 0; c < classes; ++c) to[r * classes + c] = acc[c * kRows + r];
  }
}

}  // namespace tb::TB_ISA
