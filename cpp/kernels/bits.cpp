#include "kernels/bits.hpp"

#include "kernels/simd.hpp"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tb::TB_ISA {
namespace {

typedef std::uint64_t Bits __attribute__((vector_size(W * 8)));
constexpr std::size_t kWords = W;  // of a vector

TB_INLINE Bits read(const std::uint64_t* p) {
  Bits v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
void gather_as(const T* code, const std::uint32_t* row, std::size_t count, std::size_t size, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const T v = code[row[i]];
    if constexpr (sizeof(T) == 1)
      out[i] = v;
    else
      out[i] = v < size ? static_cast<std::uint8_t>(v) : 255;
  }
}

// Which of 64 bytes are v.
#if defined(__AVX512BW__)
TB_INLINE std::uint64_t equal(const std::uint8_t* x, char v) {
  return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(x), _mm512_set1_epi8(v));
}
#elif defined(__AVX2__)
TB_INLINE std::uint64_t equal(const std::uint8_t* x, char v) {
  const __m256i level = _mm256_set1_epi8(v);
  const auto half = [&](const std::uint8_t* p) __attribute__((always_inline)) {
    const __m256i same = _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), level);
    return std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(same))};
  };
  return half(x) | half(x + 32) << 32;
}
#elif defined(__SSE2__)
TB_INLINE std::uint64_t equal(const std::uint8_t* x, char v) {
  const __m128i level = _mm_set1_epi8(v);
  std::uint64_t all = 0;
  for (int k = 3; k >= 0; --k) {
    const __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + 16 * k)), level);
    all = all << 16 | static_cast<std::uint32_t>(_mm_movemask_epi8(same));
  }
  return all;
}
#else
TB_INLINE std::uint64_t equal(const std::uint8_t* x, char v) {
  std::uint64_t all = 0;
  for (int i = 0; i < 64; ++i) all |= std::uint64_t{x[i] == static_cast<std::uint8_t>(v)} << i;
  return all;
}
#endif

TB_INLINE Bits all(std::uint64_t x) { return x - Bits{}; }

// The bits of every byte, counted.
TB_INLINE Bits count_bytes(Bits x) {
  x -= (x >> 1) & all(0x5555555555555555);
  x = (x & all(0x3333333333333333)) + ((x >> 2) & all(0x3333333333333333));
  return (x + (x >> 4)) & all(0x0F0F0F0F0F0F0F0F);
}

TB_INLINE Bits pairs_of_bytes(Bits x) { return (x & all(0x00FF00FF00FF00FF)) + ((x >> 8) & all(0x00FF00FF00FF00FF)); }

// One bit of each of three numbers added up: 2 * high + low.
TB_INLINE void add_bits(Bits& high, Bits& low, Bits a, Bits b, Bits c) {
  const Bits u = a ^ b;
  high = (a & b) | (u & c);
  low = u ^ c;
}

constexpr std::size_t kStep = 8;        // vectors added up bit by bit before any is counted (Harley and Seal's method)
constexpr std::size_t kMostSteps = 31;  // a byte counts up to 8 in each

// Up to kMostSteps steps and fewer than kStep vectors besides.
TB_INLINE std::uint64_t count_some(const std::uint64_t* a, const std::uint64_t* b, std::size_t vectors) {
  const auto both = [&](std::size_t k)
                        __attribute__((always_inline)) { return read(a + k * kWords) & read(b + k * kWords); };
  Bits ones{}, twos{}, fours{}, eights{};
  std::size_t k = 0;
  for (; k + kStep <= vectors; k += kStep) {
    Bits t0, t1, f0, f1, e;
    add_bits(t0, ones, ones, both(k), both(k + 1));
    add_bits(t1, ones, ones, both(k + 2), both(k + 3));
    add_bits(f0, twos, twos, t0, t1);
    add_bits(t0, ones, ones, both(k + 4), both(k + 5));
    add_bits(t1, ones, ones, both(k + 6), both(k + 7));
    add_bits(f1, twos, twos, t0, t1);
    add_bits(e, fours, fours, f0, f1);
    eights += count_bytes(e);
  }
  Bits rest = count_bytes(ones) + (count_bytes(twos) << 1) + (count_bytes(fours) << 2);  // at most 56 per byte
  for (; k < vectors; ++k) rest += count_bytes(both(k));                                 // and 56 more
  Bits sum = (pairs_of_bytes(eights) << 3) + pairs_of_bytes(rest);
  sum = (sum & all(0x0000FFFF0000FFFF)) + ((sum >> 16) & all(0x0000FFFF0000FFFF));
  std::uint64_t total = 0;
  for (int i = 0; i < W; ++i) total += (sum[i] & 0xFFFFFFFF) + (sum[i] >> 32);
  return total;
}

}  // namespace

void gather_bytes(const void* code, std::size_t code_bytes, const std::uint32_t* row, std::size_t count,
                  std::size_t size, std::uint8_t* out) {
  if (code_bytes == 1)
    gather_as(static_cast<const std::uint8_t*>(code), row, count, size, out);
  else if (code_bytes == 2)
    gather_as(static_cast<const std::uint16_t*>(code), row, count, size, out);
  else
    gather_as(static_cast<const std::uint32_t*>(code), row, count, size, out);
}

void level_bits(const std::uint8_t* x, std::size_t words, std::size_t levels, std::size_t stride, std::uint64_t* bits) {
  for (std::size_t k = 0; k < words; ++k) {
    for (std::size_t v = 0; v < levels; ++v) bits[v * stride + k] = equal(x + k * 64, static_cast<char>(v));
  }
}

void and_bits(const std::uint64_t* a, const std::uint64_t* b, std::size_t words, std::uint64_t* out) {
  for (std::size_t k = 0; k < words; ++k) out[k] = a[k] & b[k];
}

void count_both(const std::uint64_t* a, const std::uint64_t* b, std::size_t stride, std::size_t count,
                std::size_t words, std::uint32_t* out) {
  constexpr std::size_t most = kMostSteps * kStep;
  const std::size_t vectors = words / kWords;
  for (std::size_t v = 0; v < count; ++v) {
    std::uint64_t total = 0;
    for (std::size_t k = 0; k < vectors; k += most) {
      total += count_some(a + k * kWords, b + v * stride + k * kWords, vectors - k < most ? vectors - k : most);
    }
    out[v] = static_cast<std::uint32_t>(total);
  }
}

}  // namespace tb::TB_ISA
