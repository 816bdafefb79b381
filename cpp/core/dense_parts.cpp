// Gaussian, linear and binary terms: tile by tile through a block's columns.
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "core/cell.hpp"
#include "core/log_factorial.hpp"
#include "core/parts.hpp"

namespace tb {
namespace {

// The first bad value in reading order, for an error that does not depend on tiles or threads.
void throw_first_bad(const Columns& cols, std::size_t r0, std::size_t rows, bool negative_too) {
  for (std::size_t r = r0; r < r0 + rows; ++r) {
    for (std::size_t j = 0; j < cols.d; ++j) {
      const double x = cell(cols, r, j);
      if (std::isinf(x)) throw BadValue{BadValue::infinite, r, j, x};
      if (negative_too && x < 0) throw BadValue{BadValue::negative, r, j, x};
    }
  }
}

// The tile that will be loaded after `now`: the next columns of these rows, then the first of the next rows.
Patch after(const Patch& now) {
  const Columns& cols = *now.cols;
  Patch next = now;
  next.j0 = now.j0 + now.width;
  if (next.j0 >= cols.d) {
    next.j0 = 0;
    next.r0 = now.r0 + now.rows;
    if (next.r0 >= cols.n) return {nullptr, 0, 0, 0, 0};
    next.rows = std::min(kRows, cols.n - next.r0);
  }
  next.width = std::min(kTile, cols.d - next.j0);
  return next;
}

// body(patch, tile, finite) for each tile of a block; centre: see load_tile.
template <class F>
void for_tiles(const Columns& cols, std::size_t r0, std::size_t rows, const double* centre, F&& body) {
  alignas(64) double tile[kTile * kRows];
  for (std::size_t j0 = 0; j0 < cols.d; j0 += kTile) {
    const Patch patch{&cols, r0, rows, j0, std::min(kTile, cols.d - j0)};
    const bool finite = TB_CALL(load_tile, patch, centre ? centre + j0 : nullptr, tile);
    body(patch, tile, finite);
  }
}

// What a row without missing values gets per tile and class: per[(j / kTile) * classes + c] = sum over the tile's
// columns of from[c, j], added up in the order in which the kernels add single columns.
std::vector<double> tile_sums(const double* from, std::size_t classes, std::size_t d) {
  std::vector<double> per((d + kTile - 1) / kTile * classes, 0.0);
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t j = 0; j < d; ++j) per[j / kTile * classes + c] += from[c * d + j];
  }
  return per;
}

class GaussianPart final : public Part {
 public:
  GaussianPart(const Columns& cols, const double* terms, std::size_t classes)
      : cols_(cols),
        centre_(cols.d, 0.0),
        offset_(classes * cols.d),
        terms_{terms, terms + classes * cols.d, terms + 2 * classes * cols.d, centre_.data(), offset_.data(), classes,
               cols.d},
        low_(terms + 3 * classes * cols.d),
        constant_(tile_sums(terms_.log_norm, classes, cols.d)) {
    for (std::size_t i = 0; i < offset_.size(); ++i)
      centre_[i % cols.d] += terms_.mean[i] / static_cast<double>(classes);
    for (std::size_t i = 0; i < offset_.size(); ++i) {
      offset_[i] = ((terms_.mean[i] - centre_[i % cols.d]) + low_[i]) * terms_.scale[i];
    }
  }

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
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
  Columns cols_;
  std::vector<double> centre_;
  std::vector<double> offset_;
  GaussianTerms terms_;
  const double* low_;
  std::vector<double> constant_;
};

class LinearPart final : public Part {
 public:
  LinearPart(const Columns& cols, const double* weight, const double* bias, std::size_t classes, bool factorial)
      : cols_(cols),
        terms_{weight, bias, classes, cols.d, true},
        constant_(tile_sums(bias, classes, cols.d)),
        factorial_(factorial) {
    for (std::size_t i = 0; i < classes * cols.d; ++i) terms_.finite &= std::isfinite(weight[i]);
  }

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    for_tiles(cols_, r0, rows, nullptr, [&](const Patch& at, const double* tile, bool finite) {
      if (!finite && TB_CALL(tile_has_infinite, tile, rows, at.width)) throw_first_bad(cols_, r0, rows, true);
      if (TB_CALL(tile_has_negative, tile, rows, at.width)) throw_first_bad(cols_, r0, rows, true);
      TB_CALL(add_linear, tile, rows, at.j0, at.width, !finite, terms_,
              constant_.data() + at.j0 / kTile * terms_.classes, after(at), acc);
    });
  }
  std::size_t cells_per_row() const override { return cols_.d; }

  void add_shared(std::size_t r0, std::size_t rows, double* shared) const override {
    if (!factorial_) return;
    for_tiles(cols_, r0, rows, nullptr, [&](const Patch& at, const double* tile, bool) {
      for (std::size_t j = 0; j < at.width; ++j) {
        for (std::size_t r = 0; r < rows; ++r) {
          const double x = tile[j * kRows + r];
          if (!std::isnan(x)) shared[r] -= log_factorial(x);
        }
      }
    });
  }

  bool can_overflow() const override { return true; }
  void add_wide(std::size_t row, std::size_t classes, long double* acc) const override {
    for (std::size_t j = 0; j < cols_.d; ++j) {
      const long double x = cell(cols_, row, j);
      if (std::isnan(x)) continue;
      for (std::size_t c = 0; c < classes; ++c) {
        acc[c] += terms_.bias[c * cols_.d + j];
        if (x != 0) acc[c] += x * terms_.weight[c * cols_.d + j];
      }
    }
  }

 private:
  Columns cols_;
  LinearTerms terms_;
  std::vector<double> constant_;
  bool factorial_;
};

class BinaryPart final : public Part {
 public:
  BinaryPart(const Columns& cols, double threshold, const double* no, const double* yes, std::size_t classes)
      : cols_(cols), terms_{no, yes, threshold, classes} {}

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    for_tiles(cols_, r0, rows, nullptr, [&](const Patch& at, const double* tile, bool finite) {
      TB_CALL(add_binary, tile, rows, at.j0, at.width, !finite, terms_, acc);
    });
  }
  std::size_t cells_per_row() const override { return cols_.d; }

 private:
  Columns cols_;
  BinaryTerms terms_;
};

}  // namespace

void gaussian_terms(const double* mean, const double* low, const double* var, std::size_t classes, std::size_t d,
                    double* terms) {
  double* scale = terms + classes * d;
  double* log_norm = terms + 2 * classes * d;
  double* rest = terms + 3 * classes * d;
  const double root_half = std::sqrt(0.5);
  for (std::size_t j = 0; j < d; ++j) {
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
    for (std::size_t c = 0; c < classes; ++c) {
      const std::size_t at = c * d + j;
      terms[at] = positive ? mean[at] : 0.0;
      rest[at] = positive && low ? low[at] : 0.0;
      scale[at] = positive ? root_half / std::sqrt(var[at]) : 0.0;  // not sqrt(0.5 / var): that can overflow
      log_norm[at] = positive ? -0.5 * (std::log(2 * std::numbers::pi) + std::log(var[at])) : 0.0;
    }
  }
}

std::unique_ptr<Part> gaussian_part(const Columns& cols, const double* terms, std::size_t classes) {
  return std::make_unique<GaussianPart>(cols, terms, classes);
}

std::unique_ptr<Part> linear_part(const Columns& cols, const double* weight, const double* bias, std::size_t classes,
                                  bool factorial) {
  return std::make_unique<LinearPart>(cols, weight, bias, classes, factorial);
}

std::unique_ptr<Part> binary_part(const Columns& cols, double threshold, const double* no, const double* yes,
                                  std::size_t classes) {
  return std::make_unique<BinaryPart>(cols, threshold, no, yes, classes);
}

}  // namespace tb
