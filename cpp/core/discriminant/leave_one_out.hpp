// Leave-one-out losses of Gaussian discriminants over a grid of alpha and gamma, from the sums of all rows.
//
// Take a row x of class c and weight r out of the sums: with e = x - mean_c,
//   S_c' = S_c - s e e',  s = r n_c / (n_c - r),   x - mean_c' = e n_c / (n_c - r).
// For every class l the covariance becomes B_l - b e e', b = s * weight of the scatter in it. B_l is one matrix for all
// rows of class l and one for all others: a frame, given by its eigenvectors. Shrunk towards its mean variance
// m = (tr B_l - b |e|^2) / D:
//   G = (1 - gamma) B_l + gamma m I,   beta = (1 - gamma) b,   h = 1 - beta e' G^-1 e,
//   z' Sigma^-1 z = z' G^-1 z + beta (z' G^-1 e)^2 / h,   log |Sigma| = log |G| + log h,   z = x - mean_l = e + shift.
// So each row is turned once for each frame, and every gamma is a weighted sum of squares. m is nearly the same for
// rows of nearly the same |e|: they come in that order, and a block of them shares one short series of 1 / G in m.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/encode/columns.hpp"

namespace tb {

constexpr std::size_t kLogDetTerms = 9;

// The rows that are left out, one at a time: class by class, in the order of their size.
struct LeftRows {
  std::size_t count;
  const std::uint32_t* row;   // which row of the table
  const std::int64_t* start;  // (K + 1): where each class starts in these lists
  const double* size;         // |e|^2
  const double* step;         // s
  const double* grow;         // n_c / (n_c - r)
  const double* weight;       // of its loss
  const double* prior;        // log prior of its class without it
};

struct Frames {
  std::size_t count;
  const double* vector;   // (F, d, d): an eigenvector in each row
  const double* value;    // (F, d): their variances
  const double* share;    // (F): b / s
  const double* trace;    // (F): tr B
  const double* level;    // (F): some m, near those of the rows
  const double* log_det;  // (F, kLogDetTerms, gammas): log |G| as a polynomial in m / level - 1
};

struct LeaveOneOut {
  Columns x;
  const double* mean;   // (K, d)
  const double* low;    // (K, d): what the means lack as doubles
  const double* prior;  // (K): log prior of the classes a row is not of
  std::size_t classes, alphas, gammas;
  const double* gamma;        // ascending
  const std::int32_t* frame;  // (alphas, 2, K): of class l for rows of other classes, and for its own
  std::size_t outside;        // columns beyond d where all variance is shrinkage
  LeftRows rows;
  Frames frames;
};

// out (n): |x - mean_y - low_y|^2; NaN for a row with a missing value, or whose y is not a class.
void class_distances(const Columns& x, const std::int32_t* y, const double* mean, const double* low,
                     std::size_t classes, double* out);

// loss (alphas, gammas): the weighted sum of -log P(class | x) without the row; NaN where a covariance is left without
// full rank. std::invalid_argument if a row, class or frame is not there.
void leave_one_out_losses(const LeaveOneOut& job, double* loss);

}  // namespace tb
