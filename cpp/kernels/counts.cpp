#include "kernels/counts.hpp"

#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

template <class T>
struct Unsigned;
template <>
struct Unsigned<std::int8_t> {
  using type = std::uint8_t;
};
template <>
struct Unsigned<std::int16_t> {
  using type = std::uint16_t;
};
template <>
struct Unsigned<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct Unsigned<std::int64_t> {
  using type = std::uint64_t;
};
template <>
struct Unsigned<std::uint8_t> {
  using type = std::uint8_t;
};
template <>
struct Unsigned<std::uint16_t> {
  using type = std::uint16_t;
};
template <>
struct Unsigned<std::uint32_t> {
  using type = std::uint32_t;
};
template <>
struct Unsigned<std::uint64_t> {
  using type = std::uint64_t;
};

template <class T>
constexpr bool is_signed = static_cast<T>(-1) < T{};

// Values or-ed together: at least as large as the largest, with the same highest bit.
template <class T>
TB_INLINE typename Unsigned<T>::type bits(const char* p) {
  using U = typename Unsigned<T>::type;
  const auto u = static_cast<U>(value<T>(p));
  return is_signed<T> ? static_cast<U>(u + 1) : u;
}

template <class T>
TB_INLINE std::uint64_t place_of_bits(typename Unsigned<T>::type all) {
  if (is_signed<T>) return all > static_cast<typename Unsigned<T>::type>(~0) / 2 + 1 ? ~std::uint64_t{0} : all;
  return all == ~std::uint64_t{0} ? all : std::uint64_t{all} + 1;
}

template <class T>
std::uint64_t most_as(const Codes& c) {
  typename Unsigned<T>::type all = 0;
  if (c.stride == static_cast<std::ptrdiff_t>(sizeof(T))) {
    for (std::size_t i = 0; i < c.n; ++i) all |= bits<T>(c.x + i * sizeof(T));
  } else {
    for (std::size_t i = 0; i < c.n; ++i) all |= bits<T>(c.x + static_cast<std::ptrdiff_t>(i) * c.stride);
  }
  return place_of_bits<T>(all);
}

// Of columns that lie side by side in each row, as many as fit `chunks` vectors of B bytes: those of all rows or-ed
// together in registers. The last vector ends where the last column does, and may look at some columns again. Meanwhile
// the rows that come as far behind are fetched: they will be asked for when these have been counted.
template <class T, std::size_t B, std::size_t chunks>
TB_INLINE void most_of_strip(const char* x, std::ptrdiff_t stride, std::size_t n, std::size_t width,
                             std::uint64_t* most) {
  using U = typename Unsigned<T>::type;
  typedef U Chunk __attribute__((vector_size(B)));
  constexpr U one = is_signed<T> ? 1 : 0;
  constexpr std::size_t each = B / sizeof(T);
  Chunk all[chunks] = {};
  std::size_t first[chunks];
  for (std::size_t k = 0; k < chunks; ++k) first[k] = k + 1 < chunks ? k * each : width - each;
  const std::ptrdiff_t ahead = static_cast<std::ptrdiff_t>(n) * stride;
  for (std::size_t i = 0; i < n; ++i, x += stride) {
    for (std::size_t b = 0; b < chunks * B; b += 64) __builtin_prefetch(x + ahead + b, 0, 2);
    for (std::size_t k = 0; k < chunks; ++k) all[k] |= value<Chunk>(x + first[k] * sizeof(T)) + one;
  }
  for (std::size_t k = 0; k < chunks; ++k) {
    for (std::size_t j = 0; j < each; ++j) most[first[k] + j] = place_of_bits<T>(all[k][j]);
  }
}

template <class T, std::size_t B>
TB_INLINE void most_of_strips(const char* x, std::ptrdiff_t stride, std::size_t n, std::size_t d, std::uint64_t* most) {
  constexpr std::size_t each = B / sizeof(T);
  while (d > 0) {
    const std::size_t width = d < 4 * each ? d : 4 * each;
    switch ((width + each - 1) / each) {
      case 1:  // of more than one strip the last may be narrower than a vector
        d < each ? most_of_strip<T, B, 1>(x - (each - d) * sizeof(T), stride, n, each, most - (each - d))
                 : most_of_strip<T, B, 1>(x, stride, n, width, most);
        break;
      case 2:
        most_of_strip<T, B, 2>(x, stride, n, width, most);
        break;
      case 3:
        most_of_strip<T, B, 3>(x, stride, n, width, most);
        break;
      default:
        most_of_strip<T, B, 4>(x, stride, n, width, most);
    }
    x += width * sizeof(T);
    most += width;
    d -= width;
  }
}

template <class T>
void most_of_rows(const char* x, std::ptrdiff_t stride, std::size_t n, std::size_t d, std::uint64_t* most) {
  constexpr std::size_t widest = W * 8;
  const std::size_t bytes = d * sizeof(T);
  if (bytes >= widest) return most_of_strips<T, widest>(x, stride, n, d, most);
  if constexpr (widest > 32) {
    if (bytes >= 32) return most_of_strips<T, 32>(x, stride, n, d, most);
  }
  if constexpr (widest > 16) {
    if (bytes >= 16) return most_of_strips<T, 16>(x, stride, n, d, most);
  }
  if (bytes >= 8) return most_of_strips<T, 8>(x, stride, n, d, most);
  most_of_strips<T, sizeof(T)>(x, stride, n, d, most);
}

template <class T, class N, bool weighted>
void add(const Codes& c, const Places<N>& p) {
  // The places are taken one further, so that code -1 falls into place 0; all in local variables, which the
  // writes to the table cannot change.
  N* const t0 = p.table + 1;
  N* const t1 = t0 + p.copy;
  N* const t2 = t1 + p.copy;
  N* const t3 = t2 + p.copy;
  const std::uint32_t* const cls = c.cls;
  const double* const w = c.w;
  const std::ptrdiff_t stride = c.stride;
  const int shift = p.shift;
  const std::size_t n = c.n;
  const char* x = c.x;
  const auto one = [&](std::size_t i, const char* at, N* t) __attribute__((always_inline)) {
    const auto code = static_cast<std::ptrdiff_t>(value<T>(at));
    t[static_cast<std::ptrdiff_t>(static_cast<std::size_t>(cls[i]) << shift) + code] +=
        weighted ? static_cast<N>(w[i]) : N{1};
  };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    one(i, x, t0);
    one(i + 1, x + stride, t1);
    one(i + 2, x + 2 * stride, t2);
    one(i + 3, x + 3 * stride, t3);
    x += 4 * stride;
  }
  for (; i < n; ++i, x += stride) one(i, x, p.table + 1 + (i & 3) * p.copy);
}

template <class T>
void count_as(const Codes& c, const Places<std::uint32_t>& p) {
  add<T, std::uint32_t, false>(c, p);
}

template <class T>
void weigh_as(const Codes& c, const Places<double>& p) {
  if (c.w)
    add<T, double, true>(c, p);
  else
    add<T, double, false>(c, p);
}

}  // namespace

std::uint64_t most_place(const Codes& c) { TB_BY_INTEGER_TYPE(c.dtype, most_as, c) }
void most_places(const char* x, std::ptrdiff_t stride, Dtype dtype, std::size_t n, std::size_t d, std::uint64_t* most) {
  TB_BY_INTEGER_TYPE(dtype, most_of_rows, x, stride, n, d, most)
}
void count_codes(const Codes& c, const Places<std::uint32_t>& p) { TB_BY_INTEGER_TYPE(c.dtype, count_as, c, p) }
void weigh_codes(const Codes& c, const Places<double>& p) { TB_BY_INTEGER_TYPE(c.dtype, weigh_as, c, p) }

}  // namespace tb::TB_ISA
