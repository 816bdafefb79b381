// Averaged n-dependence estimators (AnDE; AODE is n = 1) out of counts: scores, back-off concentrations, and the
// leave-one-out loss of single super-parents (SPODE).
//
// s: the levels of the parents S; k: a child; n(...): counts; n_k(c, s) = sum over x of n(c, s, x_k = x).
//   level 0    P0(x_k | c)   = (n(c, x_k) + alpha) / (n_k(c) + alpha N_k)
//   Laplace    P(x_k | c, s) = (n(c, s, x_k) + alpha) / (n_k(c, s) + alpha N_k)
//              Q(s | c)      = P(c, s) / P(c),  P(c, s) = (n(c, s) + alpha) / (n(S) + alpha K prod N_j),
//                              1 / prod N_j for a class of weight 0
//   back-off   P_l(x_k | c, s_1 .. s_l) = (n(c, s_1 .. s_l, x_k) + a_l[k] P_(l-1)) / (n_k(c, s_1 .. s_l) + a_l[k]),
//              parents in the order of their ranks;  Q(s | c) = P0(s_1 | c) P1(s_2 | c, s_1) ...
// 0 / 0 stands for its limit as the smoothing goes to 0: the even share, or the estimate with a parent fewer.
//
// core/ensemble/back_off_chains.hpp estimates the same kind of probabilities, and is no replacement: all sets of
// parents share tables of counts here, and a row multiplies probabilities where a chain looks up a logarithm of its
// own. AODE as chains holds twice the counts and scores 20,000 rows of 12 columns in 28 ms instead of 4, of 30 columns
// in 150 ms instead of 11 (CPU time, least of five, AVX-512). Chains in turn choose any parents, read columns through
// bins and take rows out of their own counts, which networks of all sets cannot.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/networks/back_off.hpp"
#include "core/counts/joint_tables.hpp"
#include "kernels/averaged.hpp"

namespace tb {

struct AveragedCounts {
  std::size_t classes;
  std::size_t order;     // parents of each child
  const double* single;  // (classes, levels of all columns)
  const void* joint;     // (classes, cells of tables)
  bool whole;            // joint is uint32, not double
  const double* class_weight;
  const double* levels;  // N
  double alpha;
  const double* concentration;  // (order, d); null: Laplace
  const std::int32_t* rank;     // (d): parents of smaller rank come first
  Tables tables;
  // Set by check():
  std::vector<std::size_t> first;    // the first level of each column; then all levels
  std::vector<std::size_t> start;    // the first table of m columns
  double all_weight = 0.0;           // of all classes
  std::vector<Bundle> bundles = {};  // of all columns, those of few levels together
  std::size_t entries = 0;           // of a table of probabilities: levels, a missing value, the tables of bundles
  // Set by compile(), if it was called; the first two if they are not too many:
  std::vector<Family> known = {};                 // (sets of parents, order, d): see AveragedCell::parents
  std::vector<double> seen = {};                  // (sets of parents), with Laplace: n(S)
  std::shared_ptr<const AlignedArray> root = {};  // (chunks of classes, levels + 1, lanes): AveragedCell::root
  std::vector<double> total = {};                 // (…, classes): n(c, s, x_k) summed over x_k, where k has many levels
  std::vector<std::size_t> total_of = {};         // where that of each column of each table begins, or kNoTotal

  // Throws std::invalid_argument unless tables are all sets of 2 .. order + 1 columns, in lexicographic order.
  void check();
  // For many calls with few rows: what depends on the set of parents alone is computed once, here, and what would be
  // a sum over many levels. After it a row costs no more for a column of a million levels.
  void compile();
  // The families of all children beside the first, the first two, … of these parents, (order, d); those that are not
  // read are left as they are. ranked: the parents in the order of their ranks (with Laplace, ascending).
  void fill_families(const std::int32_t* ranked, Family* out) const;
  // n(S): the weight of the rows that have all these columns.
  double seen_of(const std::int32_t* set) const;
  // Columns in the order in which they serve as parents.
  void by_rank(std::int32_t* column, std::size_t m) const;

  // P0 of the classes from c0 on, own taken from each count: (levels + 1, lanes), 1 for a missing value.
  void fill_root(std::size_t c0, double own, double* out) const;

  std::size_t d() const { return tables.d; }
  std::size_t all_levels() const { return first.back(); }
  std::size_t size(std::size_t j) const { return first[j + 1] - first[j]; }
  double count(std::size_t at) const {
    return whole ? static_cast<double>(static_cast<const std::uint32_t*>(joint)[at])
                 : static_cast<const double*>(joint)[at];
  }
  // The table of `m` columns, ascending, 2 <= m <= order + 1.
  std::size_t table(const std::int32_t* column, std::size_t m) const;
  // Where the counts of column k beside l parents lie.
  Family family(const std::int32_t* parent, std::size_t l, std::size_t k) const;
  // n(c, the cell of these columns), 1 <= m <= order + 1.
  double n(std::size_t c, const std::int32_t* column, std::size_t m, std::size_t cell) const;

 private:
  void bundle_columns();
  void sum_totals();
};

// Classes are taken so many at a time.
inline std::size_t lanes_for(std::size_t classes) { return classes <= 2 ? 2 : classes <= 4 ? 4 : 8; }

// n over r, for r up to 4; 0 if r > n.
std::size_t choose(std::size_t n, std::size_t r);
// The next set of so many out of d columns in lexicographic order; false after the last.
bool next_set(std::vector<std::int32_t>& set, std::size_t d);

// Packed codes, see core/counts/joint_tables.hpp. A code without a place in the tables is as good as missing.
struct PackedCodes {
  const void* data;
  int bytes;  // 1, 2 or 4
  std::size_t n;
};

// What a row takes with it when it is left out: from the counts of each class, and from those of all classes together.
struct Removed {
  double own = 0.0;
  double all = 0.0;
};

// out (n, classes): log( sum over S of W_S Q(s | c) prod_k P(x_k | c, s) ) - log sum of W_S, over the sets S whose
// values are present and occur at least min_count times; without any such set sum_j log P0(x_j | c).
// weight: of each set of `order` columns in lexicographic order, none negative.
// removed: taken away before counts are used. A row that was counted in class c with weight u is scored leave-one-out
// by {u, u} for class c, and by {0, u} for the other classes.
void averaged_scores(const AveragedCounts& m, const PackedCodes& codes, const double* weight, double min_count,
                     Removed removed, double* out);

// out (order, d): for each level and child the concentration out of grid with the greatest leave-one-out
// log-likelihood.
void averaged_concentrations(AveragedCounts m, Grid grid, double* out);

// out (d): for each super-parent the leave-one-out log-loss of the rows. y: the class, negative: left out; w: null
// for 1.
void spode_losses(const AveragedCounts& m, const PackedCodes& codes, const std::int32_t* y, const double* w,
                  double* out);

}  // namespace tb
