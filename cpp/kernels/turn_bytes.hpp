// Squares of 16 x 16 bytes, turned in registers. Only for files in cpp/kernels: everything here is static.
#pragma once
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));

// to[j * to_step + i] = from[i * from_step + j] for i, j < 16: bytes k and k + 8 of the square's rows meet in each of
// four rounds, which moves one bit of the row number into the column number.
TB_INLINE void turn_bytes(const std::uint8_t* from, std::size_t from_step, std::uint8_t* to, std::size_t to_step,
                          std::size_t columns) {
  Bytes16 v[16], u[16];
  for (std::size_t i = 0; i < 16; ++i) std::memcpy(&v[i], from + i * from_step, 16);
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < 8; ++i) {
      u[2 * i] = __builtin_shufflevector(v[i], v[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      u[2 * i + 1] =
          __builtin_shufflevector(v[i], v[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    for (std::size_t i = 0; i < 16; ++i) v[i] = u[i];
  }
  for (std::size_t j = 0; j < columns; ++j) std::memcpy(to + j * to_step, &v[j], 16);
}

}  // namespace tb::TB_ISA
