#include "kernels/pair_counts.hpp"

#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kPlaces = 2048;  // that are found before any is counted: they stay in the first-level cache
constexpr std::size_t kChunks = 4;     // vectors of a row that are read together
static_assert(kPlaces >= 2 * kMostPairs);

template <std::size_t bytes>
struct PairOf;  // two codes of so many bytes as one number
template <>
struct PairOf<1> {
  using type = std::uint16_t;
};
template <>
struct PairOf<2> {
  using type = std::uint32_t;
};
template <>
struct PairOf<4> {
  using type = std::uint64_t;
};
template <>
struct PairOf<8> {  // there is none: one code
  using type = std::uint64_t;
};

// B bytes of a row of codes of type T.
template <class T, std::size_t B>
struct Chunk {
  using U = typename PairOf<sizeof(T)>::type;
  static constexpr int half = 8 * sizeof(T) % (8 * sizeof(U));  // where the second code of a lane begins; 0: elsewhere
  static constexpr std::size_t lanes = B / sizeof(U);
  typedef U Codes __attribute__((vector_size(B)));
  typedef std::uint32_t Places __attribute__((vector_size(lanes * 4)));

  Codes wrong, shift, bad;  // bits that no code may have; where those of a second code go; wrong ones that were seen

  inline __attribute__((always_inline)) void set(const std::uint8_t* bits) {
    const auto beyond = [](int b) { return b < static_cast<int>(8 * sizeof(T)) ? static_cast<U>(~U{0} << b) : U{0}; };
    U w[lanes], s[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
      if constexpr (half == 0) {
        w[k] = beyond(bits[k]);
        s[k] = bits[k & ~std::size_t{1}];
      } else {
        constexpr U low = static_cast<U>((U{1} << half) - 1);
        w[k] = static_cast<U>((beyond(bits[2 * k]) & low) | beyond(bits[2 * k + 1]) << half);
        s[k] = bits[2 * k];
      }
    }
    wrong = value<Codes>(reinterpret_cast<const char*>(w));
    shift = value<Codes>(reinterpret_cast<const char*>(s));
    bad = Codes{};
  }

  // The class is still to be added. Without halves every other lane is of no use.
  inline __attribute__((always_inline)) Places find(const char* x) {
    const Codes v = value<Codes>(x);
    bad |= v & wrong;
    if constexpr (half != 0) {
      const Codes b = v >> half;
      return __builtin_convertvector((v - (b << half)) + (b << shift), Places);
    } else {
      return __builtin_convertvector(v + (next(v) << shift), Places);
    }
  }

  static inline __attribute__((always_inline)) Codes next(Codes v) {
    if constexpr (lanes == 2)
      return __builtin_shufflevector(v, v, 1, 1);
    else if constexpr (lanes == 4)
      return __builtin_shufflevector(v, v, 1, 1, 3, 3);
    else
      return __builtin_shufflevector(v, v, 1, 1, 3, 3, 5, 5, 7, 7);
  }

  inline __attribute__((always_inline)) bool any_bad() const {
    U all = 0;
    for (std::size_t k = 0; k < lanes; ++k) all |= bad[k];
    return all != 0;
  }
};

// The places of pairs [p, p + width) in some rows; false: a code has none. The last vector ends where the last pair
// does, and may find places again.
template <class T, std::size_t B, std::size_t chunks>
TB_INLINE bool find_strip(const PairRows& r, const PairPlaces& to, std::size_t p, std::size_t width,
                          std::uint32_t* place) {
  constexpr std::size_t each = B / sizeof(T) / 2, apart = pair_stride(sizeof(T));
  using C = Chunk<T, B>;
  C of[chunks];
  std::size_t first[chunks];
  for (std::size_t k = 0; k < chunks; ++k) {
    first[k] = p + (k + 1 < chunks ? k * each : width - each);
    of[k].set(to.bits + 2 * first[k]);
  }
  const char* x = r.x;
  for (std::size_t i = 0; i < r.n; ++i, x += r.stride, place += to.step) {
    const std::uint32_t* const base = to.base + r.cls[i] * to.step;
    for (std::size_t k = 0; k < chunks; ++k) {
      const auto base_here = value<typename C::Places>(reinterpret_cast<const char*>(base + first[k] * apart));
      const typename C::Places found = of[k].find(x + first[k] * 2 * sizeof(T)) + base_here;
      std::memcpy(place + first[k] * apart, &found, sizeof found);
    }
  }
  bool bad = false;
  for (std::size_t k = 0; k < chunks; ++k) bad |= of[k].any_bad();
  return !bad;
}

template <class T, std::size_t B>
TB_INLINE bool find_places(const PairRows& r, const PairPlaces& to, std::uint32_t* place) {
  constexpr std::size_t each = B / sizeof(T) / 2;
  bool fine = true;
  for (std::size_t p = 0; p < r.pairs;) {
    const std::size_t left = r.pairs - p, width = left < kChunks * each ? left : kChunks * each;
    switch ((width + each - 1) / each) {
      case 1:  // of more than one strip the last may be narrower than a vector
        fine &= width < each ? find_strip<T, B, 1>(r, to, r.pairs - each, each, place)
                             : find_strip<T, B, 1>(r, to, p, width, place);
        break;
      case 2:
        fine &= find_strip<T, B, 2>(r, to, p, width, place);
        break;
      case 3:
        fine &= find_strip<T, B, 3>(r, to, p, width, place);
        break;
      default:
        fine &= find_strip<T, B, kChunks>(r, to, p, width, place);
    }
    p += width;
  }
  return fine;
}

template <class T, std::size_t B>
std::size_t count_by(PairRows r, const PairPlaces& to) {
  constexpr std::size_t apart = pair_stride(sizeof(T));
  std::uint32_t place[kPlaces];
  std::uint32_t* const table = to.table;
  const std::size_t n = r.n, most = kPlaces / to.step, bytes = 2 * r.pairs * sizeof(T);
  for (std::size_t done = 0; done < n; done += r.n) {
    r.n = n - done < most ? n - done : most;
    if (!find_places<T, B>(r, to, place)) return done;
    const char* next = r.x + static_cast<std::ptrdiff_t>(r.n) * r.stride;  // fetched while these are counted
    for (std::size_t i = 0; i < r.n; ++i, next += r.stride) {
      for (std::size_t b = 0; b < bytes; b += 64) __builtin_prefetch(next + b, 0, 2);
      const std::uint32_t* const at = place + i * to.step;
      std::size_t p = 0;
      for (; p + 4 <= r.pairs; p += 4) {
        ++table[at[p * apart]];
        ++table[at[(p + 1) * apart]];
        ++table[at[(p + 2) * apart]];
        ++table[at[(p + 3) * apart]];
      }
      for (; p < r.pairs; ++p) ++table[at[p * apart]];
    }
    r.x += static_cast<std::ptrdiff_t>(r.n) * r.stride;
    r.cls += r.n;
  }
  return n;
}

template <class T>
std::size_t count_as(const PairRows& r, const PairPlaces& to) {
  constexpr std::size_t widest = sizeof(T) == 1 ? W * 4 : W * 8;  // places have twice as many bytes as pairs of bytes
  const std::size_t bytes = 2 * r.pairs * sizeof(T);
  if (bytes >= widest) return count_by<T, widest>(r, to);
  if constexpr (widest > 32) {
    if (bytes >= 32) return count_by<T, 32>(r, to);
  }
  if constexpr (widest > 16) {
    if (bytes >= 16) return count_by<T, 16>(r, to);
  }
  return count_by<T, shortest_pairs(sizeof(T))>(r, to);
}

}  // namespace

std::size_t count_pairs(const PairRows& r, const PairPlaces& to) {
  switch (item_size(r.dtype)) {
    case 1:
      return count_as<std::uint8_t>(r, to);
    case 2:
      return count_as<std::uint16_t>(r, to);
    case 4:
      return count_as<std::uint32_t>(r, to);
    default:
      return count_as<std::uint64_t>(r, to);
  }
}

}  // namespace tb::TB_ISA
