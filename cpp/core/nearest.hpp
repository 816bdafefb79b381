// The points that lie nearest to a row, of a few thousand that are kept: all distances are computed, since in more than
// a few dimensions no tree is faster.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/aligned.hpp"

namespace tb {

class Points {
 public:
  // points (count, d), finite. root (d, d), lower triangular, or null: distances are |root (x - point)|.
  Points(const double* points, std::size_t count, std::size_t d, const double* root);

  std::size_t count() const { return count_; }
  std::size_t dimensions() const { return d_; }

  // The `most` nearest points of each of n rows (n, d), the nearest first, and of equally near ones the first:
  // index and squared distance (n, most). Where there are fewer points, the others are -1, infinitely far away.
  void nearest(const double* rows, std::size_t n, std::size_t most, std::int32_t* index, double* distance) const;

 private:
  void turn(const double* row, double* to) const;

  std::size_t count_, d_, blocks_;
  AlignedArray root_;   // (d, d), column after column; empty for none
  AlignedArray point_;  // as kernels/nearest.hpp has them; those to spare are infinitely far away
};

}  // namespace tb
