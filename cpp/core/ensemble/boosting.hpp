// Gradient boosting of oblivious trees (the same cut for all nodes of a level, as in Prokhorenkova et al. 2018),
// started from the log joint of another model.
//
// A tree cuts the rows up to `depth` times; its leaves are the combinations of the sides. With n the weight of a leaf's
// rows of class c and e the weight that was expected there, the sum of P(c),
//   value(leaf, c) = learning_rate * log((n + pseudo_count) / (e + pseudo_count))
// is added to the log joint, from which the next tree starts. The value that a row gets leaves out `self_weight` of the
// row itself, so that its prediction stays about what a new row would get. Cuts are searched on a sample of at most
// half of the rows; the tree is kept if the log-loss of the other rows falls. With many trees that estimate becomes
// pessimistic: earlier trees fitted the other rows of a leaf to this row, so that their residuals point against it.
// Where rows are many, a share of them therefore validates: these rows judge all trees and have no part in them, until
// the values of the chosen trees are estimated again with all rows. A tree is then kept if it gains more than half of
// the standard error of its gain.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tb {

struct BoostingOptions {
  std::size_t max_tries;  // trees that are tried
  std::size_t patience;   // tries in a row that may fail before the search ends …
  std::size_t depth;      // 1 to 15: that of the first trees
  std::size_t columns;    // sampled for each tree
  std::size_t rows;       // on which cuts are searched, at most
  std::uint64_t seed;     // of the samples of rows and columns
  double learning_rate, pseudo_count;
  double ridge;                    // l2 penalty in the score of a cut, the sum over cells of G^2 / (H + ridge)
  double min_gain;                 // how much a cut must raise the score
  double self_weight = 1.0;        // how much of itself a row's value leaves out
  double patience_per_tree = 0.0;  // … and so many more for each tree that was kept
  std::size_t max_depth = 0;       // up to which the depth follows what gains; at most `depth`: it stays the same
  double validation_share = 0.0;   // of the rows, by their keys; 0: rows outside the sample of a tree judge it
};

struct BoostingData {
  std::size_t rows, classes, columns;
  const std::uint8_t* bin;   // (columns, rows), or kNoBin: missing, the row leaves the tree at a cut of the column
  const std::int32_t* bins;  // of each column, at most 255
  const bool* ordered;       // cuts: up to a bin, or a bin alone
  const std::int32_t* y;     // below 0: takes no part
  const double* w;           // rows; 0: takes no part
  const double* joint;       // (rows, classes), finite
  const std::uint64_t* key;  // of each row: a hash that decides which samples it is in
};

struct ObliviousTree {
  std::vector<std::int32_t> column, cut;  // rows of bin cut (ordered: up to it) are the second half of each cell
  std::vector<double> value;              // (2^(cuts + 1) - 1, classes): without a cut (0), with the first, with two …
};

struct BoostedTrees {
  std::vector<ObliviousTree> trees;
  double gain = 0;  // by how much the mean log-loss of the rows that judged fell
};

BoostedTrees fit_boosting(const BoostingData& problem, const BoostingOptions& search);

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
