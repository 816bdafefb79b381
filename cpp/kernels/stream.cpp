#include "kernels/stream.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {

std::uint64_t sum_words(const char* p, std::size_t bytes) {
  using Words = std::uint64_t __attribute__((vector_size(sizeof(Mask))));  // their sums may go round, those of Mask not
  constexpr std::size_t step = 8 * sizeof(Words);
  Words s[8] = {};
  std::size_t i = 0;
  for (; i + step <= bytes; i += step) {
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + i + 4096), 0, 3);
    for (std::size_t k = 0; k < 8; ++k) {
      Words v;
      std::memcpy(&v, p + i + k * sizeof v, sizeof v);
      s[k] += v;
    }
  }
  std::uint64_t total = 0;
  for (std::size_t k = 0; k < 8; ++k) {
    for (int w = 0; w < W; ++w) total += s[k][w];
  }
  for (; i < bytes; ++i) total += static_cast<unsigned char>(p[i]);
  return total;
}

}  // namespace tb::TB_ISA
