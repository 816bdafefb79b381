// The hot loop of core/ensemble/boosting.cpp. Numbers of one class lie side by side, row after row; rows come in
// multiples of kCorrectionLanes, those to spare with up = down = 1 and any joint.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kCorrectionLanes = 8;

struct CorrectionRows {
  std::size_t rows, classes;
  const double* joint;      // (classes, rows), finite
  const double *up, *down;  // (classes, rows), above 0: the rows of a class, and those expected
  const double* own;        // (rows): their class
  double step;
  double* to;     // (classes, rows): joint + step * log(up / down)
  double* share;  // (classes, rows): P, from `to`
  double* loss;   // (rows): -log P of their class
};

constexpr std::size_t kCorrectionColumns = 4;  // that are read together: what one waits for, another does meanwhile

// A column of the rows.
struct CorrectionColumn {
  const std::uint8_t* bin;  // of each row, or `bins`: takes no part
  std::size_t bins;
  bool ordered;  // cuts: up to a bin, or a bin alone
  float* sum;    // room for correction_room numbers
  float* score;  // correction_wide of them: what each cut is worth
};

// Rows in the order of the cells that they are in.
struct CorrectionCells {
  std::size_t cells;
  const std::uint32_t* start;  // cells + 1
  const std::uint32_t* order;  // the rows of one cell after another
  const float* slope;          // (rows, 2, correction_slopes): the slopes of a row, then its curvatures; 0 to spare
  std::size_t slopes;
  float ridge;
};

// Cuts are compared, so float is enough; each number is at most about 1.
static constexpr std::size_t correction_wide(std::size_t bins) { return (bins + 15) / 16 * 16; }
// A vector's worth of slopes, or several.
static constexpr std::size_t correction_slopes(std::size_t slopes) {
  return slopes == 1 ? 1 : slopes <= 4 ? 4 : slopes <= 8 ? 8 : correction_wide(slopes);
}
static constexpr std::size_t correction_room(std::size_t bins, std::size_t slopes) {
  const std::size_t each = correction_slopes(slopes);
  return correction_wide((bins + 1) * 2 * each + bins * each);
}

static constexpr std::uint64_t correction_mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace tb

// taken: 1 for half of the rows, by a bit of their keys and the salt; else 0
TB_DECLARE(void, correction_halves,
           (const std::uint64_t* key, std::size_t rows, std::uint64_t salt, std::uint8_t* taken))
// judge = w of the rows that are not taken, else 0; their sum
TB_DECLARE(double, correction_judges, (const std::uint8_t* taken, const double* w, std::size_t rows, double* judge))
TB_DECLARE(void, correct_rows, (const CorrectionRows& t))
// sum of w (before - after); rows as above, those to spare with w = 0 and finite losses
TB_DECLARE(double, correction_gain, (const double* before, const double* after, const double* w, std::size_t rows))
// score[b] = the sum over cells and slopes of G^2 / (H + ridge), of both halves that a cut at bin b makes of a cell; of
// 1 to kCorrectionColumns columns, and of more slopes than kernels/boosting_cuts.hpp takes
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
