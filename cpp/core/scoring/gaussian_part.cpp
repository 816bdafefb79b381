// Gaussian terms: wide rows where they lie, few columns tile by tile.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/encode/cell.hpp"
#include "core/scoring/parts.hpp"
#include "core/scoring/tiles.hpp"
#include "kernels/gaussian_rows.hpp"
#include "kernels/logs.hpp"
#include "kernels/pack.hpp"

namespace tb {
namespace {

class GaussianPart final : public Part {
 public:
  GaussianPart(const Columns& cols, const double* terms, std::size_t classes)
      : cols_(cols),
        centre_(cols.d, 0.0),
        offset_(classes * cols.d),
        terms_{terms, terms + classes * cols.d, terms + 2 * classes * cols.d, centre_.data(), offset_.data(), classes,
               cols.d},
        low_(terms + 3 * classes * cols.d),
        constant_(tiles_of(cols.d) * classes) {
    prepare();
    if (TB_CALL(gaussian_by_rows, classes, cols.d)) lay();
  }

  bool renew() override {
    prepare();
    for (const Piece& p : pieces_) TB_CALL(lay_gaussian, terms_, p.j0, p.width, laid_.data() + p.at);
    return true;
  }

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    if (!pieces_.empty()) return add_rows(r0, rows, acc);
    for_tiles(cols_, r0, rows, centre_.data(), [&](const Patch& at, const double* tile, bool finite) {
      if (!finite && TB_CALL(tile_has_infinite, tile, rows, at.width)) throw_first_bad(cols_, r0, rows, false);
      TB_CALL(add_gaussian, tile, rows, at.j0, at.width, !finite, terms_,
              constant_.data() + at.j0 / kTile * terms_.classes, after(at), acc);
    });
  }
  std::size_t cells_per_row() const override { return cols_.d; }

  bool can_overflow() const override { return true; }
  void add_wide(std::size_t row, std::size_t classes, long double* acc) const override {
    for (std::size_t j = 0; j < cols_.d; ++j) {
      const long double x = cell(cols_, row, j);
      if (std::isnan(x)) continue;
      for (std::size_t c = 0; c < classes; ++c) {
        const std::size_t at = c * cols_.d + j;
        const long double t = (x - terms_.mean[at] - low_[at]) * terms_.scale[at];
        acc[c] += terms_.log_norm[at] - t * t;
      }
    }
  }

 private:
  struct Piece {
    std::size_t j0, width, at;
  };

  void prepare() {
    const std::size_t d = cols_.d;
    const auto classes = static_cast<double>(terms_.classes);
    std::fill(centre_.begin(), centre_.end(), 0.0);
    for (std::size_t c = 0; c < terms_.classes; ++c) {
      const double* mean = terms_.mean + c * d;
      double* __restrict centre = centre_.data();
      for (std::size_t j = 0; j < d; ++j) centre[j] += mean[j] / classes;
    }
    for (std::size_t c = 0; c < terms_.classes; ++c) {
      const double *mean = terms_.mean + c * d, *low = low_ + c * d, *scale = terms_.scale + c * d;
      double* __restrict offset = offset_.data() + c * d;
      for (std::size_t j = 0; j < d; ++j) offset[j] = ((mean[j] - centre_[j]) + low[j]) * scale[j];
    }
    sum_tiles(terms_.log_norm, terms_.classes, d, constant_.data());
  }

  // The columns cut into pieces of about the same width, each of whole cache lines but the last.
  void lay() {
    constexpr std::size_t unit = 8;
    const std::size_t units = (cols_.d + unit - 1) / unit, count = (cols_.d + kStretch - 1) / kStretch;
    std::size_t size = 0;
    for (std::size_t p = 0, j0 = 0; p < count; ++p) {
      const std::size_t end = std::min(cols_.d, (p + 1) * units / count * unit);
      pieces_.push_back({j0, end - j0, size});
      size += TB_CALL(gaussian_laid, terms_.classes, end - j0);
      j0 = end;
    }
    laid_.at_least(size);
    for (const Piece& p : pieces_) TB_CALL(lay_gaussian, terms_, p.j0, p.width, laid_.data() + p.at);
  }

  void add_rows(std::size_t r0, std::size_t rows, double* acc) const {
    alignas(64) double packed[kRows * kStretch];
    for (const Piece& piece : pieces_) {
      const Column& first = cols_.col[piece.j0];
      Stretch from{first.data + static_cast<std::ptrdiff_t>(r0) * first.stride,
                   first.stride,
                   first.dtype,
                   rows,
                   piece.width,
                   true};
      if (!direct_) {
        const Columns these{r0 + rows, piece.width, &first, cols_.row_major};
        TB_CALL(pack_block, these, r0, r0 + rows, packed);
        from = {reinterpret_cast<const char*>(packed),
                static_cast<std::ptrdiff_t>(piece.width * sizeof(double)),
                Dtype::f64,
                rows,
                piece.width,
                false};
      }
      if (!TB_CALL(add_gaussian_rows, from, laid_.data() + piece.at, terms_.classes, acc))
        throw_first_bad(cols_, r0, rows, false);
    }
  }

  Columns cols_;
  std::vector<double> centre_;
  std::vector<double> offset_;
  GaussianTerms terms_;
  const double* low_;
  std::vector<double> constant_;
  const bool direct_ = readable_in_place(cols_);
  std::vector<Piece> pieces_;  // none: by tiles
  AlignedArray laid_;
};

// Whether a column says something: its variance is 0 in no class; false if it is 0 in all.
bool column_varies(const double* mean, const double* var, std::size_t classes, std::size_t d, std::size_t j) {
  std::size_t positive = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    const double v = var[c * d + j];
    if (!(v >= 0) || std::isinf(v) || !std::isfinite(mean[c * d + j])) {
      throw std::invalid_argument("column " + std::to_string(j) + ", class " + std::to_string(c) + ": mean " +
                                  std::to_string(mean[c * d + j]) + " and variance " + std::to_string(v) +
                                  " must be finite, the variance not negative");
    }
    positive += v > 0;
  }
  if (positive != 0 && positive != classes) {
    throw std::invalid_argument("column " + std::to_string(j) + ": the variance is 0 in some classes only; " +
                                "floor it, or set it to 0 in all to leave the column out");
  }
  return positive != 0;
}

}  // namespace

void gaussian_terms(const double* mean, const double* low, const double* var, std::size_t classes, std::size_t d,
                    double* terms) {
  constexpr std::size_t some = 16;  // columns at a time, several of them at once
  double* scale = terms + classes * d;
  double* log_norm = terms + 2 * classes * d;
  double* rest = terms + 3 * classes * d;
  const double root_half = std::sqrt(0.5), log_two_pi = std::log(2 * std::numbers::pi);
  TB_CALL(logs, var, classes * d, log_norm);
  constexpr double inf = std::numeric_limits<double>::infinity();
  bool all = true;  // as is usual; else each column is looked at by itself
  for (std::size_t i = 0; i < classes * d; ++i) all &= (var[i] > 0) & (var[i] < inf) & (std::abs(mean[i]) < inf);
  for (std::size_t j0 = 0; j0 < d; j0 += some) {
    const std::size_t width = std::min(some, d - j0);
    bool varies[some];
    for (std::size_t j = 0; !all && j < width; ++j) varies[j] = column_varies(mean, var, classes, d, j0 + j);
    for (std::size_t c = 0; c < classes; ++c) {
      const std::size_t at = c * d + j0;
      const double* own_var = var + at;
      double* __restrict to_scale = scale + at, * __restrict to_norm = log_norm + at;
      for (std::size_t j = 0; j < width; ++j) {
        to_scale[j] = root_half / std::sqrt(own_var[j]);  // not sqrt(0.5 / var): that can overflow
        to_norm[j] = -0.5 * (log_two_pi + to_norm[j]);
      }
      std::copy_n(mean + at, width, terms + at);
      if (low) std::copy_n(low + at, width, rest + at);
      if (!low) std::fill_n(rest + at, width, 0.0);
      for (std::size_t j = 0; !all && j < width; ++j) {
        if (!varies[j]) terms[at + j] = rest[at + j] = to_scale[j] = to_norm[j] = 0.0;
      }
    }
  }
}

std::unique_ptr<Part> gaussian_part(const Columns& cols, const double* terms, std::size_t classes) {
  return std::make_unique<GaussianPart>(cols, terms, classes);
}

}  // namespace tb
