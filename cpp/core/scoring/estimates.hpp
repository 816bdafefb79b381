// Statistics → parameters: the formulas that the table path and the one-row path share.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tb {

struct GaussianOptions {
  int ddof = 0;
  bool shared = false;
  double smoothing = 1e-9;
};

// Statistics, (K, d) each; the means are mean + low (see double_double.hpp).
struct GaussianSums {
  const double* n;
  const double* mean;
  const double* low;
  const double* m2;
};

struct GaussianEstimate {
  double* mean;  // (K, d)
  double* low;
  double* var;
  double* epsilon;  // (d): what smoothing added to var
};

//   own:    var = m2 / (n - ddof);   shared: var = sum_c m2 / (sum_c n - ddof * classes that saw the column)
// then + smoothing * spread, where spread is the column's variance over all classes, and never below 1e-15 * spread.
// A class that never saw a column takes the mean and spread of all classes together. A column that never varies
// has variance 0 in every class: it says nothing.
void gaussian_estimate(std::size_t K, std::size_t d, const GaussianSums& s, const GaussianOptions& o,
                       const GaussianEstimate& out);

// log P(class): (weight + added) / (their sum), for K classes.
void log_prior(const double* weight, std::size_t K, double added, double* out);

// x[0] + ... + x[n - 1] by a tree: neighbours are added, then neighbours of these sums. Zeros at the end change no bit,
// and a tree that is kept (see level_tree.hpp) follows a change of one number without adding the others again.
double tree_sum(const double* x, std::size_t n);

// How many levels each of d columns has; their counts stand side by side.
struct LevelSizes {
  std::size_t d;
  const std::int64_t* size;
  bool fill(std::size_t levels) const;  // none is negative, and there are so many levels in all
};

// out (K, d): tree_sum of the counts of each column; count (K, levels).
void level_totals(std::size_t K, const LevelSizes& columns, const double* count, double* out);

// no, yes: sums of rows at most, or above a threshold, (K, d); alpha (d). log P(no | class), log P(yes | class), (K,
// d).
void threshold_estimate(std::size_t K, std::size_t d, const double* no, const double* yes, const double* alpha,
                        double* log_no, double* log_yes);

struct PoissonEstimate {
  double* rate;  // (K, d)
  double* weight;
  double* bias;
};

// n and sum: of rows and of their counts, (K, d); alpha (d). rate = (sum + alpha * overall) / (n + alpha), overall: the
// mean of all classes. A row of counts x has the log-likelihood x * weight + bias, up to what all classes share.
void poisson_estimate(std::size_t K, std::size_t d, const double* n, const double* sum, const double* alpha,
                      const PoissonEstimate& out);

// log of each row's shares, in the place of a (K, d); a row of zeros is shared evenly.
void log_shares(std::size_t K, std::size_t d, double* a);

// The same of sum + alpha; sum and out (K, d), alpha (d).
void log_shares(std::size_t K, std::size_t d, const double* sum, const double* alpha, double* out);

}  // namespace tb
