#include "kernels/panels.hpp"

namespace tb::TB_ISA {
namespace {

// s (height x width used, rows d apart) += a tile.
template <int wide>
TB_INLINE void add_tile(const double* a, const double* b, std::size_t panel_stride, std::size_t rows, double* s,
                        std::size_t d, std::size_t height, std::size_t width) {
  constexpr int vecs = wide * kPanelVecs;
  Vec sums[kPanel][vecs] = {};
  for (std::size_t m = 0; m < kPanel && m < height; ++m) {  // asked for now, there when it is added to
    __builtin_prefetch(s + m * d, 1);
    __builtin_prefetch(s + m * d + vecs * W - 1, 1);
  }
  multiply<wide>(a, b, panel_stride, rows, sums);
  if (height >= kPanel && width >= vecs * W) {
#pragma GCC unroll 8
    for (std::size_t m = 0; m < kPanel; ++m) {
#pragma GCC unroll 8
      for (int q = 0; q < vecs; ++q) {
        double* to = s + m * d + q * W;
        store(to, load(to) + sums[m][q]);
      }
    }
    return;
  }
  double lane[kPanel][vecs * W];  // at the edge of the matrix
  for (std::size_t m = 0; m < kPanel; ++m) {
    for (int q = 0; q < vecs; ++q) store(&lane[m][q * W], sums[m][q]);
  }
  for (std::size_t m = 0; m < kPanel && m < height; ++m) {
    for (std::size_t q = 0; q < vecs * W && q < width; ++q) s[m * d + q] += lane[m][q];
  }
}

// Panel i of a against `wide` panels of b from j on.
void add_panels(const Pack& a, std::size_t i, const Pack& b, std::size_t j, std::size_t wide, double* s) {
  with_wide(wide, [&](auto w) {
    add_tile<w.value>(a.panels + i * kPanel * a.stride, b.panels + j * kPanel * b.stride, kPanel * b.stride, a.rows,
                      s + i * kPanel * a.d + j * kPanel, a.d, a.d - i * kPanel, b.d - j * kPanel);
  });
}

std::size_t at_most_wide(std::size_t panels) { return panels < kWide ? panels : kWide; }

}  // namespace

void add_products(const Pack& z, std::size_t from, std::size_t to, double* s, const RowPick* next) {
  std::size_t all = 0, done = 0, fetched = 0;
  for (std::size_t j = 0; j < to; j += kWide) all += to - (j > from ? j : from);
  for (std::size_t j = 0; j < to; j += kWide) {
    for (std::size_t i = j > from ? j : from; i < to; ++i) {
      add_panels(z, i, z, j, at_most_wide(i - j + 1), s);
      ++done;
      for (; next && fetched < next->count * done / all; ++fetched) fetch_row(*next, fetched);
    }
  }
}

void add_cross_products(const Pack& a, const Pack& b, std::size_t from, std::size_t to, double* s) {
  const std::size_t panels = panels_of(b.d);
  for (std::size_t j = 0; j < panels; j += kWide) {
    for (std::size_t i = from; i < to; ++i) add_panels(a, i, b, j, at_most_wide(panels - j), s);
  }
}

void move_lower(double* part, std::size_t d, double* total) {
  for (std::size_t i = 0; i < d; ++i, part += d, total += d) {
    for (std::size_t j = 0; j <= i; ++j) {
      total[j] += part[j];
      part[j] = 0.0;
    }
  }
}

}  // namespace tb::TB_ISA
