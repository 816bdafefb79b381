// The hot loop of core/ensemble/boosting.cpp. Numbers of one class lie side by side, row after row; rows come in
// multiples of kBoostingLanes, those to spare with up = down = 1 and any joint.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kBoostingLanes = 8;

struct BoostedRows {
  std::size_t rows, classes;
  const double* joint;      // (classes, rows), finite
  const double *up, *down;  // (classes, rows), above 0: the rows of a class, and those expected
  const double* own;        // (rows): their class
  double step;
  double* to;     // (classes, rows): joint + step * log(up / down)
  double* share;  // (classes, rows): P, from `to`
  double* loss;   // (rows): -log P of their class
};

constexpr std::size_t kCutColumns = 4;  // that are read together: what one waits for, another does meanwhile

// A column of the rows.
struct CutColumn {
  const std::uint8_t* bin;  // of each row, or `bins`: takes no part
  std::size_t bins;
  bool ordered;  // cuts: up to a bin, or a bin alone
  float* sum;    // room for cut_room numbers
  float* score;  // padded_bins of them: what each cut is worth
};

// Rows in the order of the cells that they are in.
struct TreeCells {
  std::size_t cells;
  const std::uint32_t* start;  // cells + 1
  const std::uint32_t* order;  // the rows of one cell after another
  const float* gradient;       // (rows, 2, padded_gradients): the gradients of a row, then its hessians; 0 to spare
  std::size_t gradients;
  float ridge;
};

// Cuts are compared, so float is enough; each number is at most about 1.
static constexpr std::size_t padded_bins(std::size_t bins) { return (bins + 15) / 16 * 16; }
// A vector's worth of gradients, or several.
static constexpr std::size_t padded_gradients(std::size_t gradients) {
  return gradients == 1 ? 1 : gradients <= 4 ? 4 : gradients <= 8 ? 8 : padded_bins(gradients);
}
static constexpr std::size_t cut_room(std::size_t bins, std::size_t gradients) {
  const std::size_t each = padded_gradients(gradients);
  return padded_bins((bins + 1) * 2 * each + bins * each);
}

static constexpr std::uint64_t splitmix64(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace tb

// taken: 1 for half of the rows, by a bit of their keys and the salt; else 0
TB_DECLARE(void, sample_half, (const std::uint64_t* key, std::size_t rows, std::uint64_t salt, std::uint8_t* taken))
// judge = w of the rows that are not taken, else 0; their sum
TB_DECLARE(double, holdout_weights, (const std::uint8_t* taken, const double* w, std::size_t rows, double* judge))
TB_DECLARE(void, boost_rows, (const BoostedRows& t))
// sum of w (before - after); rows as above, those to spare with w = 0 and finite losses
TB_DECLARE(double, loss_reduction, (const double* before, const double* after, const double* w, std::size_t rows))
// score[b] = the sum over cells and gradients of G^2 / (H + ridge), of both halves that a cut at bin b makes of a cell;
// of 1 to kCutColumns columns, and of more gradients than kernels/boosting_cuts.hpp takes
TB_DECLARE(void, cut_scores, (const TreeCells& t, const CutColumn* column, std::size_t columns))
// node = 2 node + 1, or + 2 for rows of bin cut (ordered: up to it); out: rows that stay where they are, since a bin is
// 255 or was before
TB_DECLARE(void, descend_rows,
           (const std::uint8_t* bin, std::size_t rows, bool ordered, std::uint8_t cut, std::uint8_t* out,
            std::uint16_t* node))
// up = n - unit of the row's own class + worth, down = e - unit * share + worth, of the row's node; 1 of node 0
TB_DECLARE(void, leaf_ratios,
           (const std::uint16_t* node, const std::uint32_t* y, const double* unit, const double* share,
            std::size_t rows, std::size_t classes, std::size_t c, const double* n, const double* e, double worth,
            double* up, double* down))
