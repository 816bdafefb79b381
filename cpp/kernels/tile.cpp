#include "kernels/tile.hpp"

#include "kernels/transpose.hpp"
#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

template <class T>
TB_INLINE Quad quad_of(const char* p) {
  typedef T Some __attribute__((vector_size(Q * sizeof(T))));
  Some v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, Quad);
}

TB_INLINE bool all_zero(Quad v) {  // false for NaN
  bool zero = true;
  for (std::size_t i = 0; i < Q; ++i) zero &= v[i] == 0.0;
  return zero;
}

// Rows of one type, columns side by side: squares of Q rows by Q columns.
// x * 0 is 0 for a finite x and NaN for any other.
template <class T, bool centred>
bool load_row_major(const Patch& from, const double* centre, double* tile) {
  const Column& first = from.cols->col[from.j0];
  Quad check[Q] = {};  // one each: a single sum would be a chain of waits
  double rest = 0;
  std::size_t r = 0;
  for (; r + Q <= from.rows; r += Q) {
    const char* p = first.data + static_cast<std::ptrdiff_t>(from.r0 + r) * first.stride;
    std::size_t j = 0;
    for (; j + Q <= from.width; j += Q) {
      Quad v[Q];
      for (std::size_t i = 0; i < Q; ++i) {
        v[i] = quad_of<T>(p + static_cast<std::ptrdiff_t>(i) * first.stride + j * sizeof(T));
        check[i] += v[i] * 0.0;
      }
      turn(v);
      for (std::size_t k = 0; k < Q; ++k) {
        if constexpr (centred) v[k] -= centre[j + k];
        put(tile + (j + k) * kRows + r, v[k]);
      }
    }
    for (; j < from.width; ++j) {
      for (std::size_t i = 0; i < Q; ++i) {
        const char* at = p + static_cast<std::ptrdiff_t>(i) * first.stride + j * sizeof(T);
        const double x = static_cast<double>(value<T>(at));
        rest += x * 0.0;
        tile[j * kRows + r + i] = centred ? x - centre[j] : x;
      }
    }
  }
  for (; r < from.rows; ++r) {
    const char* p = first.data + static_cast<std::ptrdiff_t>(from.r0 + r) * first.stride;
    for (std::size_t j = 0; j < from.width; ++j) {
      const double x = static_cast<double>(value<T>(p + j * sizeof(T)));
      rest += x * 0.0;
      tile[j * kRows + r] = centred ? x - centre[j] : x;
    }
  }
  for (std::size_t i = 1; i < Q; ++i) check[0] += check[i];
  return all_zero(check[0]) && rest == 0.0;
}

template <class T>
void load_column(const char* p, std::ptrdiff_t stride, std::size_t rows, double* to) {
  if (stride == static_cast<std::ptrdiff_t>(sizeof(T))) {
    for (std::size_t r = 0; r < rows; ++r) to[r] = static_cast<double>(value<T>(p + r * sizeof(T)));
  } else {
    for (std::size_t r = 0; r < rows; ++r) {
      to[r] = static_cast<double>(value<T>(p + static_cast<std::ptrdiff_t>(r) * stride));
    }
  }
}

bool load_by_column(const Patch& from, const double* centre, double* tile) {
  Vec check{};
  double rest = 0;
  for (std::size_t j = 0; j < from.width; ++j) {
    const Column& column = from.cols->col[from.j0 + j];
    double* to = tile + j * kRows;
    const char* p = column.data + static_cast<std::ptrdiff_t>(from.r0) * column.stride;
    with_type(column.dtype, [&](auto t) { load_column<typename decltype(t)::type>(p, column.stride, from.rows, to); });
    const double less = centre ? centre[j] : 0.0;
    std::size_t r = 0;
    for (; r + W <= from.rows; r += W) {
      check += load(to + r) * 0.0;
      store(to + r, load(to + r) - less);
    }
    for (; r < from.rows; ++r) {
      rest += to[r] * 0.0;
      to[r] -= less;
    }
  }
  for (int i = 0; i < W; ++i) rest += check[i];
  return rest == 0.0;
}

template <class F>
TB_INLINE bool any(const double* tile, std::size_t rows, std::size_t width, F&& test) {
  Mask found{};
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t r = 0; r < rows; r += W) found |= test(load(tile + j * kRows + r));
  }
  std::int64_t some = 0;
  for (int i = 0; i < W; ++i) some |= found[i];
  return some != 0;
}

}  // namespace

bool load_tile(const Patch& from, const double* centre, double* tile) {
  if (from.width == 0) return true;
  bool finite = true;
  if (from.cols->row_major) {
    with_type(from.cols->col[0].dtype, [&](auto t) {
      using T = typename decltype(t)::type;
      finite = centre ? load_row_major<T, true>(from, centre, tile) : load_row_major<T, false>(from, nullptr, tile);
    });
  } else {
    finite = load_by_column(from, centre, tile);
  }
  const std::size_t full = (from.rows + W - 1) / W * W;
  for (std::size_t j = 0; j < from.width && from.rows < full; ++j) {
    for (std::size_t r = from.rows; r < full; ++r) tile[j * kRows + r] = 0.0;
  }
  return finite;
}

bool tile_has_infinite(const double* tile, std::size_t rows, std::size_t width) {
  return any(tile, rows, width, [](Vec x) { return (x == __builtin_inf()) | (x == -__builtin_inf()); });
}

bool tile_has_negative(const double* tile, std::size_t rows, std::size_t width) {
  return any(tile, rows, width, [](Vec x) { return x < 0.0; });
}

}  // namespace tb::TB_ISA
