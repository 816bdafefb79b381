#include "kernels/inverse_roots.hpp"

#include "kernels/panels.hpp"

namespace tb::TB_ISA {

bool root_of_block(const double* m, std::size_t d, std::size_t size, double* upper, double* inverse) {
  const std::size_t width = panels_of(size) * kPanel;
  const auto at = [&](std::size_t j, std::size_t i) -> double& {
    return upper[(i / kPanel * size + j) * kPanel + i % kPanel];
  };
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = 0; i < width; ++i) at(j, i) = i < j || i >= size ? 0.0 : -m[i * d + j];
  }
  for (std::size_t j = 0; j < size; ++j) {
    const double pivot = at(j, j);
    if (!(pivot > 0.0)) return false;
    inverse[j] = 1.0 / __builtin_sqrt(pivot);
    for (std::size_t p = j / kPanel; p < width / kPanel; ++p) {
      double* row = upper + (p * size + j) * kPanel;
      for (int q = 0; q < kPanelVecs; ++q) store(row + q * W, load(row + q * W) * inverse[j]);
    }
    for (std::size_t k = j + 1; k < size; ++k) {  // what is left of it: rows k, from their own panel on
      const double f = at(j, k);
      for (std::size_t p = k / kPanel; p < width / kPanel; ++p) {
        const double* row = upper + (p * size + j) * kPanel;
        double* to = upper + (p * size + k) * kPanel;
        for (int q = 0; q < kPanelVecs; ++q) store(to + q * W, load(to + q * W) - load(row + q * W) * f);
      }
      for (std::size_t i = k / kPanel * kPanel; i < k; ++i) at(k, i) = 0.0;
    }
  }
  return true;
}

void solve_panels(const double* upper, const double* inverse, std::size_t size, double* x, std::size_t count) {
  const std::size_t panel_stride = kPanel * size;
  for (std::size_t p = 0; p < count; p += kWide, x += kWide * panel_stride) {
    with_wide(count - p, [&](auto w) {
      constexpr int vecs = w.value * kPanelVecs;
      for (std::size_t t = 0; t < size; t += kPanel) {
        const double *a = upper + t * size, *corner = a + t * kPanel;
        Vec done[kPanel][vecs] = {};
        multiply<w.value>(a, x, panel_stride, t, done);  // what the rows before say
        for (std::size_t m = 0; m < kPanel && t + m < size; ++m) {
          for (int q = 0; q < vecs; ++q) {
            double* at =
                x + static_cast<std::size_t>(q / kPanelVecs) * panel_stride + (t + m) * kPanel + q % kPanelVecs * W;
            Vec v = load(at) - done[m][q];
            for (std::size_t e = 0; e < m; ++e) v -= done[e][q] * corner[e * kPanel + m];
            done[m][q] = v * inverse[t + m];
            store(at, done[m][q]);
          }
        }
      }
    });
  }
}

void normal_equations(const double* factor, std::size_t d, const double* a, std::size_t count, double* weight,
                      double* square) {
  for (std::size_t k = 0; k < count; ++k) square[k] = 0.0;
  for (std::size_t at = 0; at < count * d; ++at) weight[at] = 0.0;
  for (std::size_t i = 0; i < d; ++i) {
    const double* row = factor + i * d;
    for (std::size_t k = 0; k < count; ++k) {
      const double* x = a + k * d;
      double* w = weight + k * d;
      Vec sums = {};
      std::size_t j = 0;
      for (; j + W <= i + 1; j += W) sums += load(row + j) * load(x + j);
      double lane[W], z = 0.0;
      store(lane, sums);
      for (int q = 0; q < W; ++q) z += lane[q];
      for (std::size_t rest = j; rest <= i; ++rest) z += row[rest] * x[rest];
      square[k] += z * z;
      for (j = 0; j + W <= i + 1; j += W) store(w + j, load(w + j) + load(row + j) * z);
      for (; j <= i; ++j) w[j] += row[j] * z;
    }
  }
}

}  // namespace tb::TB_ISA
