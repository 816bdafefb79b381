#include "core/math/inverse_roots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/inverse_roots.hpp"
#include "kernels/scatter.hpp"

namespace tb {
namespace {

constexpr std::size_t kBlock = 48;           // rows that are finished together
constexpr std::size_t kSerialColumns = 128;  // columns: fewer are not worth a second thread
constexpr std::size_t kTaskPanels = 12;      // panels, one task

// Cholesky and forward substitution in one sweep over blocks J of rows, in place. Before J's turn, of the rows
// from J on,
//   columns from J on   hold  -(S - L L')   over the blocks before,
//   columns before J    hold  L F           over the blocks before.
// The root L_JJ of what is left of S_JJ then gives all that has to do with J at once: L_JJ^-1 times the negative of
// what stands there is L' of the rows below, the identity becomes F_JJ, and the columns before become F. These, side by
// side, are a pack Z, and the rows below need Z'Z more: one sum of products for both halves.
class Sweep {
 public:
  Sweep(double* m, std::size_t d, bool threaded)
      : m_(m),
        d_(d),
        threaded_(threaded && d >= kSerialColumns),
        panel_(TB_CALL(panel_width)),
        panels_((d + panel_ - 1) / panel_),
        block_((kBlock + panel_ - 1) / panel_ * panel_),
        z_(block_ * panels_ * panel_),
        upper_(block_ * block_),
        inverse_(d) {}

  // Minus the logarithm of the determinant of F; NaN if there is no root.
  double run() {
    for (std::size_t from = 0; from < d_; from += block_) {
      const std::size_t size = std::min(block_, d_ - from);
      if (!TB_CALL(root_of_block, m_ + from * (d_ + 1), d_, size, upper_.data(), inverse_.data() + from)) {
        return std::numeric_limits<double>::quiet_NaN();
      }
      each((panels_ + kTaskPanels - 1) / kTaskPanels,
           [&](std::size_t i) { solve(i * kTaskPanels, std::min(panels_, (i + 1) * kTaskPanels), from, size); });
      const Pack z{z_.data(), size, size, d_};
      const std::size_t next = (from + size) / panel_, last = from + size == d_ ? next : panels_;
      each((last - next + kTaskPanels - 1) / kTaskPanels, [&](std::size_t i) {
        const std::size_t to = last - i * kTaskPanels;  // the longest first
        TB_CALL(add_products, z, std::max(next + kTaskPanels, to) - kTaskPanels, to, m_, nullptr);
      });
    }
    double sum = 0.0;
    for (const double v : inverse_) sum -= std::log(v);
    return sum;
  }

 private:
  template <class F>
  void each(std::size_t count, F&& body) const {
    if (threaded_) return parallel_for(count, [&](std::size_t i, int) { body(i); });
    for (std::size_t i = 0; i < count; ++i) body(i);
  }

  // Panels [first, last) of the pack of rows [from, from + size).
  void solve(std::size_t first, std::size_t last, std::size_t from, std::size_t size) {
    double* z = z_.data() + first * panel_ * size;
    for (std::size_t p = first; p < last; ++p) read(p, from, size);
    TB_CALL(solve_panels, upper_.data(), inverse_.data() + from, size, z, last - first);
    for (std::size_t p = first; p < last && p * panel_ < from + size; ++p) {
      const double* x = z_.data() + p * panel_ * size;
      const std::size_t width = std::min(panel_, d_ - p * panel_);
      for (std::size_t r = 0; r < size; ++r) std::copy_n(x + r * panel_, width, m_ + (from + r) * d_ + p * panel_);
    }
  }

  // The negative of what stands there; the identity in place of the block itself. What is below becomes 0: it is L F
  // next.
  void read(std::size_t p, std::size_t from, std::size_t size) {
    double* z = z_.data() + p * panel_ * size;
    const std::size_t first = p * panel_, width = std::min(panel_, d_ - first);
    std::fill_n(z, panel_ * size, 0.0);
    if (first < from) {
      for (std::size_t r = 0; r < size; ++r) {
        for (std::size_t j = 0; j < width; ++j) z[r * panel_ + j] = -m_[(from + r) * d_ + first + j];
      }
    } else if (first < from + size) {
      for (std::size_t j = 0; j < width; ++j) z[(first + j - from) * panel_ + j] = 1.0;
    } else {
      for (std::size_t j = 0; j < width; ++j) {
        double* down = m_ + (first + j) * d_ + from;
        for (std::size_t r = 0; r < size; ++r) z[r * panel_ + j] = -std::exchange(down[r], 0.0);
      }
    }
  }

  double* m_;
  std::size_t d_;
  bool threaded_;
  std::size_t panel_, panels_, block_;
  AlignedArray z_, upper_;
  std::vector<double> inverse_;
};

Root root(double* s, std::size_t d, const double* unit, bool threaded) {
  for (std::size_t i = 0; i < d; ++i) {
    const double scale = -1.0 / unit[i];
    for (std::size_t j = 0; j <= i; ++j) s[i * d + j] = s[i * d + j] * scale / unit[j];
  }
  Root out{2.0 * Sweep(s, d, threaded).run(), 0.0};
  for (std::size_t i = 0; i < d; ++i) {
    double squares = 0.0;
    for (std::size_t j = 0; j <= i; ++j) {
      squares += s[i * d + j] * s[i * d + j];
      s[i * d + j] /= unit[j];
    }
    std::fill(s + i * d + i + 1, s + (i + 1) * d, 0.0);
    out.trace += squares;
    out.log_det += 2.0 * std::log(unit[i]);
  }
  return out;
}

}  // namespace

void roots(std::size_t count, std::size_t d, double* s, const double* unit, Root* out) {
  const bool alone = count < static_cast<std::size_t>(threads());
  const auto one = [&](std::size_t k, int) { out[k] = root(s + k * d * d, d, unit + k * d, alone); };
  if (alone || d < kSerialColumns / 4) {
    for (std::size_t k = 0; k < count; ++k) one(k, 0);
  } else {
    parallel_for(count, one);
  }
}

void solve_normal(const double* factor, std::size_t d, const double* a, std::size_t count, double* weight,
                  double* square) {
  const auto one = [&](std::size_t k, int) {
    TB_CALL(normal_equations, factor, d, a + k * d, 1, weight + k * d, square + k);
  };
  if (count * d * d < kSerialColumns * kSerialColumns) {
    for (std::size_t k = 0; k < count; ++k) one(k, 0);
  } else {
    parallel_for(count, one);
  }
}

}  // namespace tb
