// Linear and binary terms: tile by tile through a block's columns.
#include <cmath>
#include <vector>

#include "core/encode/cell.hpp"
#include "core/math/log_factorial.hpp"
#include "core/scoring/parts.hpp"
#include "core/scoring/tiles.hpp"

namespace tb {
namespace {

class LinearPart final : public Part {
 public:
  LinearPart(const Columns& cols, const double* weight, const double* bias, std::size_t classes, bool factorial)
      : cols_(cols),
        terms_{weight, bias, classes, cols.d, true},
        constant_(tiles_of(cols.d) * classes),
        factorial_(factorial) {
    sum_tiles(bias, classes, cols.d, constant_.data());
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
      TB_CALL(add_binary, tile, rows, at.j0, at.width, !finite, terms_, after(at), acc);
    });
  }
  std::size_t cells_per_row() const override { return cols_.d; }
  bool renew() override { return true; }  // it reads them where they are

 private:
  Columns cols_;
  BinaryTerms terms_;
};

}  // namespace

std::unique_ptr<Part> linear_part(const Columns& cols, const double* weight, const double* bias, std::size_t classes,
                                  bool factorial) {
  return std::make_unique<LinearPart>(cols, weight, bias, classes, factorial);
}

std::unique_ptr<Part> binary_part(const Columns& cols, double threshold, const double* no, const double* yes,
                                  std::size_t classes) {
  return std::make_unique<BinaryPart>(cols, threshold, no, yes, classes);
}

}  // namespace tb
