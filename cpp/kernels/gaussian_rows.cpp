// A row's result does not depend on its neighbours: each goes through the same operations in the same order, however
// many are taken at once. A row with a missing value shows it by a sum that is no number, and is added again with care;
// where the first of a strip has missing values, the others are looked at before they are added in vain.
//
// The terms of a stretch, in this order: centre, then for each class scale, offset and log_norm, `padded` doubles each,
// then for each class the sum of its log_norm. The last vector holds the last W columns; of those that an earlier one
// had already it has zeros.
#include "kernels/gaussian_rows.hpp"

#include "kernels/transpose.hpp"
#include "kernels/walk.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kStrip = 16;  // rows whose sums by lane wait to be added across
constexpr std::size_t kGroup = 5;   // classes at once: with two rows, 10 sums of 16 registers
constexpr std::size_t kFetch = 16;  // rows ahead

typedef std::int64_t QuadMask __attribute__((vector_size(Q * 8)));

TB_INLINE const double* of_class(const double* laid, std::size_t size, std::size_t c) {
  return laid + size + 3 * c * size;
}

// lane[k[i] * G + g] = the squares of row k[i], class g of G, added up lane by lane.
template <class T, std::size_t R, std::size_t G>
TB_INLINE void squares(const char* x, std::ptrdiff_t stride, const std::uint8_t* k, std::size_t width,
                       const double* laid, const double* first_class, Vec* lane) {
  const std::size_t size = padded(width), whole = width / W * W;
  const T* row[R];
  for (std::size_t i = 0; i < R; ++i) row[i] = reinterpret_cast<const T*>(x + k[i] * stride);
  Vec sum[R][G];
  for (std::size_t i = 0; i < R; ++i) {
    for (std::size_t g = 0; g < G; ++g) sum[i][g] = Vec{};
  }
  const auto add = [&](std::size_t at, std::size_t from) __attribute__((always_inline)) {
    Vec v[R];
    for (std::size_t i = 0; i < R; ++i) v[i] = read<Vec>(row[i] + from) - load(laid + at);
    const double* p = first_class + at;
    for (std::size_t g = 0; g < G; ++g, p += 3 * size) {
      const Vec scale = load(p), offset = load(p + size);
      for (std::size_t i = 0; i < R; ++i) {
        const Vec t = v[i] * scale - offset;
        sum[i][g] += t * t;
      }
    }
  };
  for (std::size_t j = 0; j < whole; j += W) add(j, j);
  if (whole < width) add(whole, width - W);
  for (std::size_t i = 0; i < R; ++i) {
    for (std::size_t g = 0; g < G; ++g) lane[k[i] * G + g] = sum[i][g];
  }
}

TB_INLINE Quad folded(Vec v) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
  return v;
#endif
}

// The sums over the lanes of Q vectors, G apart.
template <std::size_t G>
TB_INLINE Quad across(const Vec* lane) {
  Quad v[Q];
  for (std::size_t i = 0; i < Q; ++i) v[i] = folded(lane[i * G]);
  turn(v);
  Quad sum = v[0] + v[1];
  if constexpr (Q == 4) sum += v[2] + v[3];
  return sum;
}

// The rows of a strip that are worth adding plainly: all, unless the first shows that there are missing values.
struct Listed {
  std::size_t m = 0;
  std::uint8_t row[kStrip];
};

template <class T>
TB_INLINE bool complete(const char* x, std::size_t width) {
  const T* row = reinterpret_cast<const T*>(x);
  Vec check{};  // x - x is 0 for finite x, else NaN
  for (std::size_t j = 0; j + W <= width; j += W) check += read<Vec>(row + j) - read<Vec>(row + j);
  check += read<Vec>(row + width - W) - read<Vec>(row + width - W);
  double sum = 0.0;
  for (int i = 0; i < W; ++i) sum += check[i];
  return sum == 0.0;
}

template <class T>
TB_INLINE Listed listed(const char* x, std::ptrdiff_t stride, std::size_t rows, std::size_t width) {
  Listed list;
  const bool all = complete<T>(x, width);
  for (std::size_t r = 0; r < rows; ++r) {
    list.row[list.m] = static_cast<std::uint8_t>(r);
    list.m += all || complete<T>(x + static_cast<std::ptrdiff_t>(r) * stride, width);
  }
  return list;
}

// Q rows each: all ones where a row was added plainly. The first class settles it, for a value that is missing or
// infinite makes its sum so too.
struct Plain {
  QuadMask row[kStrip / Q];
};

template <class T, std::size_t G, std::size_t R>
TB_INLINE void strip(const Stretch& from, const char* x, std::size_t rows, const Listed& list, const double* laid,
                     std::size_t c0, const double* constant, Plain& plain, double* acc) {
  const std::size_t width = from.width, full = (rows + Q - 1) / Q * Q;
  const double* first = of_class(laid, padded(width), c0);
  Vec lane[kStrip * G];
  if (list.m < full) {  // rows with missing values have no sum
    for (std::size_t i = 0; i < full * G; ++i) lane[i] = set(__builtin_nan(""));
  }
  std::size_t k = 0;
  for (; k + R <= list.m; k += R) {
    if (c0 == 0 && from.more) {
      for (std::size_t i = k + kFetch; i < k + kFetch + R; ++i) {
        const auto p = reinterpret_cast<std::uintptr_t>(x) +
                       static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(i) * from.stride);
        for (std::size_t b = 0; b < width * sizeof(T) + 63; b += 64) fetch(p + b);
      }
    }
    squares<T, R, G>(x, from.stride, list.row + k, width, laid, first, lane);
  }
  for (; k < list.m; ++k) squares<T, 1, G>(x, from.stride, list.row + k, width, laid, first, lane);
  for (std::size_t q = 0; q < full / Q; ++q) {
    for (std::size_t g = 0; g < G; ++g) {
      const Quad sum = across<G>(lane + q * Q * G + g);
      if (c0 + g == 0) plain.row[q] = sum < __builtin_inf();
      double* to = acc + (c0 + g) * kRows + q * Q;
      const Quad term = constant[c0 + g] - sum;
      put(to, quad(to) + reinterpret_cast<Quad>(plain.row[q] & reinterpret_cast<QuadMask>(term)));
    }
  }
}

// One row, G classes, what is missing left out. Gives false if a value is infinite.
template <class T, std::size_t G>
bool add_careful(const char* x, std::size_t width, const double* laid, std::size_t c0, double* acc) {
  const std::size_t size = padded(width), whole = width / W * W;
  const T* row = reinterpret_cast<const T*>(x);
  const double* first = of_class(laid, size, c0);
  Vec sum[G], norm[G];
  for (std::size_t g = 0; g < G; ++g) sum[g] = norm[g] = Vec{};
  Mask infinite{};
  const auto add = [&](std::size_t at, std::size_t from) __attribute__((always_inline)) {
    const Vec v = read<Vec>(row + from);
    const Mask there = v == v;
    infinite |= there & ~(v - v == 0.0);
    const double* p = first + at;
    for (std::size_t g = 0; g < G; ++g, p += 3 * size) {
      const Vec t = pick(there, (v - load(laid + at)) * load(p) - load(p + size), Vec{});
      sum[g] += t * t;
      norm[g] += pick(there, load(p + 2 * size), Vec{});
    }
  };
  for (std::size_t j = 0; j < whole; j += W) add(j, j);
  if (whole < width) add(whole, width - W);
  for (std::size_t g = 0; g < G; ++g) {
    double total = 0.0;
    for (int i = 0; i < W; ++i) total += norm[g][i];
    for (int i = 0; i < W; ++i) total -= sum[g][i];
    acc[(c0 + g) * kRows] += total;
  }
  std::int64_t any = 0;
  for (int i = 0; i < W; ++i) any |= infinite[i];
  return any == 0;
}

// f(Some<G>{}, c0) for groups of G <= kGroup classes, as even as can be.
template <std::size_t n>
struct Some {
  static constexpr std::size_t value = n;
};
template <class F>
TB_INLINE void for_groups(std::size_t classes, F&& f) {
  const std::size_t groups = (classes + kGroup - 1) / kGroup;
  for (std::size_t k = 0; k < groups; ++k) {
    const std::size_t c0 = k * classes / groups;
    switch ((k + 1) * classes / groups - c0) {
      case 1:
        f(Some<1>{}, c0);
        break;
      case 2:
        f(Some<2>{}, c0);
        break;
      case 3:
        f(Some<3>{}, c0);
        break;
      case 4:
        f(Some<4>{}, c0);
        break;
      default:
        f(Some<5>{}, c0);
    }
  }
}

template <class T>
bool add_rows_of(const Stretch& from, const double* laid, std::size_t classes, double* acc) {
  const double* constant = of_class(laid, padded(from.width), classes);
  for (std::size_t r0 = 0; r0 < from.rows; r0 += kStrip) {
    const std::size_t rows = from.rows - r0 < kStrip ? from.rows - r0 : kStrip;
    const char* x = from.x + static_cast<std::ptrdiff_t>(r0) * from.stride;
    const Listed list = listed<T>(x, from.stride, rows, from.width);
    Plain plain;
    for_groups(classes, [&](auto g, std::size_t c0) {
      constexpr std::size_t G = decltype(g)::value, R = G <= 2 ? 4 : 2;
      if (list.m > 0)
        strip<T, G, R>(from, x, rows, list, laid, c0, constant, plain, acc + r0);
      else
        plain = {};
    });
    for (std::size_t r = 0; r < rows; ++r) {
      if (plain.row[r / Q][r % Q] != 0) continue;
      const char* row = x + static_cast<std::ptrdiff_t>(r) * from.stride;
      bool finite = true;
      for_groups(classes, [&](auto g, std::size_t c0) {
        finite &= add_careful<T, decltype(g)::value>(row, from.width, laid, c0, acc + r0 + r);
      });
      if (!finite) return false;
    }
  }
  return true;
}

}  // namespace

bool gaussian_by_rows(std::size_t classes, std::size_t d) { return classes <= 2 * kGroup && d >= 4 * W; }

std::size_t gaussian_laid(std::size_t classes, std::size_t width) {
  return ((1 + 3 * classes) * padded(width) + classes + 7) / 8 * 8;  // whole cache lines
}

void lay_gaussian(const GaussianTerms& terms, std::size_t j0, std::size_t width, double* to) {
  const std::size_t size = padded(width), whole = width / W * W;
  const auto lay = [&](const double* from, bool once) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t j = i < whole ? i : width - W + (i - whole);
      *to++ = once && i >= whole && j < whole ? 0.0 : from[j];
    }
  };
  lay(terms.centre + j0, false);
  for (std::size_t c = 0; c < terms.classes; ++c) {
    const std::size_t at = c * terms.d + j0;
    lay(terms.scale + at, true);
    lay(terms.offset + at, true);
    lay(terms.log_norm + at, true);
  }
  for (std::size_t c = 0; c < terms.classes; ++c, ++to) {
    *to = 0.0;
    for (std::size_t j = j0; j < j0 + width; ++j) *to += terms.log_norm[c * terms.d + j];
  }
}

bool add_gaussian_rows(const Stretch& from, const double* laid, std::size_t classes, double* acc) {
  return from.dtype == Dtype::f64 ? add_rows_of<double>(from, laid, classes, acc)
                                  : add_rows_of<float>(from, laid, classes, acc);
}

}  // namespace tb::TB_ISA
