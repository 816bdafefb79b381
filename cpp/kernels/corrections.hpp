// The hot loop of core/corrections.cpp. Numbers of one class lie side by side, row after row; rows come in multiples of
// kCorrectionLanes, those to spare with up = down = 1 and any joint.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/dispatch.hpp"

namespace tb {

constexpr std::size_t kCorrectionLanes = 8;

struct CorrectionRows {
  std::size_t rows, classes;
  const double* joint;      // (classes, rows), finite
  const double *up, *down;  // (classes, rows), above 0: the rows of a class, and those expected
  double step;
  double* to;     // (classes, rows): joint + step * log(up / down)
  double* share;  // (classes, rows): P, from `to`
  double* whole;  // (rows): the logarithm of what P was divided by
};

constexpr std::size_t kCorrectionColumns = 4;  // that are read together: what one waits for, another does meanwhile

// A column of the rows.
struct CorrectionColumn {
  const std::uint8_t* bin;  // of each row, or 255: takes no part
  std::size_t bins;
  bool ordered;   // cuts: up to a bin, or a bin alone
  double* sum;    // room for correction_room numbers
  double* score;  // correction_wide of them: what each cut is worth
};

// Rows in the order of the cells that they are in.
struct CorrectionCells {
  std::size_t cells;
  const std::uint32_t* start;  // cells + 1
  const std::uint32_t* order;  // the rows of one cell after another
  const double* slope;         // (rows, each): slope and curvature, of one class after another
  std::size_t slopes, each;    // each: 2 slopes, or more if they are several: a multiple of kCorrectionLanes
  double ridge;
};

// bins as a multiple of kCorrectionLanes: so many scores there are
static constexpr std::size_t correction_wide(std::size_t bins) {
  return (bins + kCorrectionLanes - 1) / kCorrectionLanes * kCorrectionLanes;
}
static constexpr std::size_t correction_room(std::size_t bins, std::size_t each) {
  return (bins + 1 + correction_wide(bins)) * each;
}

}  // namespace tb

TB_DECLARE(void, correct_rows, (const CorrectionRows& t))
// score[b] = the sum over cells and slopes of G^2 / (H + ridge), of both halves that a cut at bin b makes of a cell; of
// 1 to kCorrectionColumns columns
TB_DECLARE(void, correction_scores, (const CorrectionCells& t, const CorrectionColumn* column, std::size_t columns))
// node = 2 node + 1, or + 2 for rows of bin cut (ordered: up to it); out: rows that stay where they are, since a bin is
// 255 or was before
TB_DECLARE(void, correction_nodes,
           (const std::uint8_t* bin, std::size_t rows, bool ordered, std::uint8_t cut, std::uint8_t* out,
            std::uint16_t* node))
// up = n - unit of the row's own class + worth, down = e - unit * share + worth, of the row's node; 1 of node 0
TB_DECLARE(void, correction_parts,
           (const std::uint16_t* node, const std::uint32_t* y, const double* unit, const double* share,
            std::size_t rows, std::size_t classes, std::size_t c, const double* n, const double* e, double worth,
            double* up, double* down))
