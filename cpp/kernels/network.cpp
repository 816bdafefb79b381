#include "kernels/network.hpp"

#include "kernels/lanes.hpp"

namespace tb::TB_ISA {
namespace {

template <int n, bool whole, std::size_t together>
TB_INLINE void sum_rows(const FamilyCells& cells, std::size_t row, std::size_t c0, std::size_t some, Tail tail,
                        double* out) {
  const std::size_t classes = cells.classes;
  Vec a[together][n] = {};
  for (std::size_t f = 0; f < cells.families; ++f) {
    const std::uint32_t* cell = cells.cell + f * kRows + row;
    const double* log = cells.log[f] + c0;
    for (std::size_t i = 0; i < together; ++i) {
      const double* w = log + static_cast<std::size_t>(cell[i]) * classes;
      for (int v = 0; v < n - 1; ++v) a[i][v] += load(w + v * W);
      a[i][n - 1] += whole ? load(w + (n - 1) * W) : load_tail(w + (n - 1) * W, tail);
    }
  }
  for (std::size_t i = 0; i < together; ++i) {
    double sum[n * W];
    for (int v = 0; v < n; ++v) store(sum + v * W, a[i][v]);
    for (std::size_t c = 0; c < some; ++c) out[(row + i) * classes + c0 + c] = sum[c];
  }
}

template <int n, bool whole>
void sum_block(const FamilyCells& cells, std::size_t rows, std::size_t c0, std::size_t some, Tail tail, double* out) {
  constexpr std::size_t together = n == 1 ? 8 : n == 2 ? 4 : 2;
  std::size_t r = 0;
  for (; r + together <= rows; r += together) sum_rows<n, whole, together>(cells, r, c0, some, tail, out);
  for (; r < rows; ++r) sum_rows<n, whole, 1>(cells, r, c0, some, tail, out);
}

template <class T>
bool widen(const T* from, std::size_t rows, std::uint32_t* to) {
  constexpr T none = static_cast<T>(~T{0});
  std::uint32_t found = 0;
  const auto one = [&](std::size_t r) {
    const std::uint32_t absent = from[r] == none ? ~std::uint32_t{0} : 0u;
    found |= absent;
    to[r] = from[r] & ~absent;
  };
  if (rows == kRows) {
    for (std::size_t r = 0; r < kRows; ++r) one(r);
  } else {
    for (std::size_t r = 0; r < rows; ++r) one(r);
    for (std::size_t r = rows; r < kRows; ++r) to[r] = 0;
  }
  return found != 0;
}

}  // namespace

bool widen_codes(const void* codes, int bytes, std::size_t rows, std::uint32_t* to) {
  if (bytes == 1) return widen(static_cast<const std::uint8_t*>(codes), rows, to);
  if (bytes == 2) return widen(static_cast<const std::uint16_t*>(codes), rows, to);
  return widen(static_cast<const std::uint32_t*>(codes), rows, to);
}

void sum_families(const FamilyCells& cells, std::size_t rows, double* out) {
  for (std::size_t c0 = 0; c0 < cells.classes; c0 += kLanes) {
    const std::size_t some = cells.classes - c0 < kLanes ? cells.classes - c0 : kLanes;
    const Tail tail = tail_of((some - 1) % W + 1);
    with_vectors(some, [&](auto n) {
      if (some % W == 0)
        sum_block<n.value, true>(cells, rows, c0, some, tail, out);
      else
        sum_block<n.value, false>(cells, rows, c0, some, tail, out);
    });
  }
}

void add_codes(const std::uint32_t* code, std::uint32_t stride, std::uint32_t* cell) {
  for (std::size_t r = 0; r < kRows; ++r) cell[r] += code[r] * stride;
}

}  // namespace tb::TB_ISA
