// Leave-one-out losses of Gaussians along the axes (diagonal or spherical covariances) over a grid of alpha and gamma.
//
// Every row comes with the variances of the statistics without it. With level_k = the mean of a class's variances over
// the columns, all of them are, for every point of the grid,
//   v_kj = (1 - gamma) (alpha own_kj + (1 - alpha) shared_j) + gamma (alpha level_k + (1 - alpha) level)
// and the row's loss is that of prior_k - sum_j (log v_kj + away_kj / v_kj) / 2.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tb {

struct LeaveOneOutDiagonal {
  std::size_t rows, classes, d, alphas, gammas;
  const double* away;         // (rows, K, d): squared distances from the means without the row
  const double* own;          // (rows, K, d)
  const double* shared;       // (rows, d)
  const double* level;        // (rows, K + 1): of each class, then of what is shared
  const std::uint8_t* there;  // (rows, d): 0 for a column that is not scored
  const double* prior;        // (rows, K)
  const std::int32_t* y;      // (rows): the class of each
  const double* weight;       // (rows): of its loss
  const double* alpha;
  const double* gamma;
};

// loss (alphas, gammas): the weighted sum of -log P(class | x), as if the constant of the Gaussian were 0.
// The same bits for any number of threads. std::invalid_argument for a class that is not there.
void leave_one_out_diagonal(const LeaveOneOutDiagonal& job, double* loss);

}  // namespace tb
