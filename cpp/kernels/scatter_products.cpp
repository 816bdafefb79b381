#include "kernels/panels.hpp"

namespace tb::TB_ISA {
namespace {

// s (height x width used, rows d apart) += a tile.
template <int vecs>
void add_tile(const double* a, const double* b, std::size_t rows, double* s, std::size_t d, std::size_t height,
              std::size_t width) {
  Vec sums[kTileRows][vecs] = {};
  for (std::size_t m = 0; m < kTileRows && m < height; ++m) {  // asked for now, there when it is added to
    __builtin_prefetch(s + m * d, 1);
    __builtin_prefetch(s + m * d + vecs * W - 1, 1);
  }
  multiply<vecs>(a, b, rows, sums);
  if (height >= kTileRows && width >= vecs * W) {
#pragma GCC unroll 8
    for (int m = 0; m < kTileRows; ++m) {
#pragma GCC unroll 8
      for (int q = 0; q < vecs; ++q) {
        double* to = s + static_cast<std::size_t>(m) * d + q * W;
        store(to, load(to) + sums[m][q]);
      }
    }
    return;
  }
  double lane[kTileRows][vecs * W];  // at the edge of the matrix
  for (int m = 0; m < kTileRows; ++m) {
    for (int q = 0; q < vecs; ++q) store(&lane[m][q * W], sums[m][q]);
  }
  for (std::size_t m = 0; m < kTileRows && m < height; ++m) {
    for (std::size_t q = 0; q < vecs * W && q < width; ++q) s[m * d + q] += lane[m][q];
  }
}

// Panel i against itself: tile t needs its first (t + 1) * kTileRows columns.
void add_diagonal(const Pack& z, std::size_t i, double* s) {
  const double* panel = z.panels + i * kPanel * z.stride;
  const std::size_t width = z.d - i * kPanel;
  double* corner = s + i * kPanel * (z.d + 1);
  for (std::size_t t = 0; t < kPanel && t < width; t += kTileRows) {
    double* to = corner + t * z.d;
    const double* a = panel + t;
    switch ((t + kTileRows) / W) {
      case 1: add_tile<1>(a, panel, z.rows, to, z.d, width - t, width); break;
      case 2: add_tile<2>(a, panel, z.rows, to, z.d, width - t, width); break;
      default: add_tile<kPanelVecs>(a, panel, z.rows, to, z.d, width - t, width);
    }
  }
}

// Panel i of a against panel j of b.
void add_panels(const Pack& a, std::size_t i, const Pack& b, std::size_t j, double* s) {
  const std::size_t height = a.d - i * kPanel, width = b.d - j * kPanel;
  for (std::size_t t = 0; t < kPanel && t < height; t += kTileRows) {
    add_tile<kPanelVecs>(a.panels + i * kPanel * a.stride + t, b.panels + j * kPanel * b.stride, a.rows,
                         s + (i * kPanel + t) * a.d + j * kPanel, a.d, height - t, width);
  }
}

}  // namespace

void add_products(const Pack& z, std::size_t from, std::size_t to, double* s, const RowPick* next) {
  const std::size_t all = to * (to + 1) / 2 - from * (from + 1) / 2;
  std::size_t done = 0, fetched = 0;
  for (std::size_t j = 0; j < to; ++j) {
    for (std::size_t i = j > from ? j : from; i < to; ++i) {
      if (i == j) add_diagonal(z, i, s);
      else add_panels(z, i, z, j, s);
      ++done;
      for (; next && fetched < next->count * done / all; ++fetched) fetch_row(*next, fetched);
    }
  }
}

void add_cross_products(const Pack& a, const Pack& b, std::size_t from, std::size_t to, double* s) {
  for (std::size_t j = 0; j < panels_of(b.d); ++j) {
    for (std::size_t i = from; i < to; ++i) add_panels(a, i, b, j, s);
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
