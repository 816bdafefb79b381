// The cuts of trees of up to four gradients (core/ensemble/boosting.cpp). A gradient and its hessian are a pair; the
// pairs of all gradients of several columns lie side by side, so that one addition, and one division, is of many of
// them. Besides: how a tree updates the rows of two classes.
//
// A second implementation of cut_scores, leaf_ratios and boost_rows, with the same trees to the bit. 40 trees of 12
// columns with 64 bins take, here and with cut_scores (gradients padded to 8): two classes, 1,000 rows 2.0 and 6.0 ms,
// 9,000 rows 17 and 26 ms; three classes, 1,000 rows 5.5 and 7.5 ms; four classes 5.5 and 8.8 ms. With leaf_ratios and
// boost_rows two classes and 9,000 rows take 22 ms (CPU time, least of five, AVX-512, a busy machine).
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"
#include "kernels/boosting.hpp"

namespace tb {

constexpr std::size_t kPairedColumns = 8;  // at most
constexpr float kScoreMargin = 1.00001f;   // by so much is a cut better, and not only rounded otherwise

// Some columns of the rows, each with room for `slots` gradients; those to spare are 0.
struct PairedColumns {
  std::size_t columns, slots, gradients, side;  // side: 4, 8 or 16 pairs, slots of each column; others are to spare
  std::size_t bins;                             // of the column that has most
  const std::uint16_t* place;                   // (rows, side): paired_place of the bins, or of `bins`: takes no part
  const float* before;                          // (side): 1 where a cut is up to a bin, 0 where it is a bin alone
  const std::int32_t* cuts;                     // (kPairedColumns): so many bins can be cut at, 0 of columns to spare
  float* sum;                                   // room for paired_sums numbers …
  float* score;                                 // … and for paired_scores of them
  float best[kPairedColumns];                   // what the best cut of each column is worth, 0 if there is none …
  std::int32_t at[kPairedColumns];              // … and where it is, or -1
};

constexpr std::size_t kPairedGradients = 4;  // at most
static constexpr std::size_t paired_slots(std::size_t gradients) { return gradients == 1 ? 1 : kPairedGradients; }
// Pairs side by side, for so many columns that are left.
static constexpr std::size_t paired_side(std::size_t slots, std::size_t left) {
  return slots == 1 ? (left > 4 ? 8 : 4) : left > 2 ? 16 : 8;
}

// Some bins to spare: behind them the rows that take no part, and what fills a vector.
static constexpr std::size_t paired_scores(std::size_t bins, std::size_t side) { return (bins + 4) * side; }
static constexpr std::size_t paired_copy(std::size_t bins, std::size_t side) { return 2 * paired_scores(bins, side); }
constexpr std::size_t kFewBins = 16, kCopies = 4;  // up to so many bins have several copies of the sums
static constexpr std::size_t paired_sums(std::size_t bins, std::size_t side) {
  return (bins <= kFewBins ? kCopies : 1) * paired_copy(bins, side);
}

// Where the sums of a bin begin.
static constexpr std::uint16_t paired_place(std::size_t bin, std::size_t side) {
  return static_cast<std::uint16_t>(2 * side * bin);
}

// How a tree updates the rows of two classes.
struct PairedRows {
  std::size_t rows;           // a multiple of kBoostingLanes
  const std::uint16_t* node;  // (rows): 0 is moved by nothing
  const double *own, *unit;   // (rows): the class, and what leaves with the row
  const double *n, *e;        // (nodes, 2): rows, and those expected
  double worth, step;
  const double *joint, *part;  // (2, rows): and P so far
  double *to, *share, *loss;   // as of BoostedRows
};

}  // namespace tb

// As cut_scores, with gradients (rows, slots, 2): each with its hessian; then the first cut of each column that
// is better than those before it.
TB_DECLARE(void, paired_cuts, (const TreeCells& t, PairedColumns& column))
// leaf_ratios and boost_rows in one.
TB_DECLARE(void, paired_rows, (const PairedRows& t))
// sum (4, nodes, 4): in each lane, that of every fourth row, the rows of both classes and then those expected
TB_DECLARE(void, paired_counts,
           (const std::uint16_t* node, const std::uint32_t* y, const double* w, const double* share, std::size_t wide,
            std::size_t rows, double* sum))
