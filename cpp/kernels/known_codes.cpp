#include "kernels/known_codes.hpp"

#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kBlock = 1024;

// Numbers below 16: their codes are bytes of one register.
#if defined(__AVX2__)
constexpr bool kShuffles = true;
void look_up_16(const std::uint8_t* x, std::size_t n, const std::int8_t* of, std::int8_t* out) {
  const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(of)));
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_shuffle_epi8(table, v));
  }
  for (; i < n; ++i) out[i] = of[x[i]];
}
#else
constexpr bool kShuffles = false;
void look_up_16(const std::uint8_t*, std::size_t, const std::int8_t*, std::int8_t*) {}
#endif

template <class T>
bool known_as(const KnownCodes& t, std::int8_t* __restrict out) {
  std::uint8_t low[kBlock];
  for (std::size_t done = 0; done < t.n; done += kBlock) {
    const std::size_t n = t.n - done < kBlock ? t.n - done : kBlock;
    const char* x = t.x + done * sizeof(T);
    std::int8_t* to = out + done;
    T all = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const T v = value<T>(x + i * sizeof(T));
      all |= v;
      low[i] = static_cast<std::uint8_t>(v);
    }
    if (all > 255) return false;
    if (kShuffles && all < 16) {
      look_up_16(low, n, t.of, to);
    } else {
      for (std::size_t i = 0; i < n; ++i) to[i] = t.of[low[i]];
    }
    std::int8_t signs = 0;
    for (std::size_t i = 0; i < n; ++i) signs |= to[i];
    if (signs < 0) return false;
  }
  return true;
}

}  // namespace

bool known_codes(const KnownCodes& t, std::int8_t* out) {
  switch (t.dtype) {
    case Dtype::u8:
      return known_as<std::uint8_t>(t, out);
    case Dtype::u16:
      return known_as<std::uint16_t>(t, out);
    default:
      return known_as<std::uint32_t>(t, out);
  }
}

}  // namespace tb::TB_ISA
