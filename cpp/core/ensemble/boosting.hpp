// Corrections: where the classes came more often, or less, than a model expected.
//
// A correction cuts the rows in two up to `depth` times, the same cut for all cells at once, so it has a cell for each
// combination. With n the weight of a cell's rows of class c and e the weight that was expected there, the sum of P(c),
//   value(cell, c) = step * log((n + worth) / (e + worth))
// is added to the joint; the next correction starts from there. Each row is corrected by its cell without `own` of
// itself, so what is expected of it stays about what a new row could expect. Cuts are searched on some of the rows, at
// most half of them; the correction is kept if the log-loss of the others falls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tb {

struct CorrectionSearch {
  std::size_t most;      // tries
  std::size_t patience;  // tries in a row that are not kept, before the search ends
  std::size_t depth;     // 1 to 15
  std::size_t columns;   // that are looked at for one correction
  std::size_t rows;      // on which cuts are searched, at most
  std::uint64_t seed;    // another one looks at other rows and columns
  double step, worth, ridge,
      least;           // least: how much a cut must raise the score, the sum over cells of G^2 / (H + ridge)
  double own = 1.0;    // how much of itself a row is corrected without
  double eager = 0.0;  // so many more tries may fail for each correction that was kept
};

struct CorrectionProblem {
  std::size_t rows, classes, columns;
  const std::uint8_t* bin;   // (columns, rows), or kNoBin: the row takes no part in a cut of the column
  const std::int32_t* bins;  // of each column, at most 255
  const bool* ordered;       // cuts: up to a bin, or a bin alone
  const std::int32_t* y;     // below 0: takes no part
  const double* w;           // rows; 0: takes no part
  const double* joint;       // (rows, classes), finite
  const std::uint64_t* key;  // of each row: which searches it takes part in
};

struct Correction {
  std::vector<std::int32_t> column, cut;  // rows of bin cut (ordered: up to it) are the second half of each cell
  std::vector<double> value;              // (2^(cuts + 1) - 1, classes): without a cut (0), with the first, with two …
};

struct Corrections {
  std::vector<Correction> found;
  double gain = 0;  // how far the mean log-loss fell, of rows on which no cut was searched
};

Corrections find_corrections(const CorrectionProblem& problem, const CorrectionSearch& search);

// Cuts, and the bins of the levels of all columns, of which the last is that of a missing value.
struct CutViews {
  std::size_t count;
  const std::int32_t *column, *cut;
  const std::uint8_t* bin;    // or kNoBin, at most of what is missing
  const std::int64_t* start;  // of each column, and the end of the last
  const bool* ordered;
};

// Which half of its cut each level is in, cut after cut: core/ensemble/back_off_chains.hpp reads them as views.
void cut_views(const CutViews& views, std::uint8_t* map);

}  // namespace tb
