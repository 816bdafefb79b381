// The points that lie nearest to a row, of a few thousand that are kept. In more than a few dimensions no tree is
// faster than looking at all of them: in floats first, whose error is bounded; those that may be among the nearest
// are looked at again in doubles.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/runtime/aligned_array.hpp"

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
  struct Space;
  void whiten(const double* row, double* to) const;
  void find(const double* row, const float* approximate, double error, std::size_t most, Space& space,
            std::int32_t* index, double* distance) const;

  std::size_t count_, d_, blocks_;
  AlignedArray root_;            // (d, d), column after column; empty for none
  std::vector<double> point_;    // (count, d), turned
  Aligned<float> rough_, half_;  // the same as kernels/neighbors.hpp has it; points to spare are infinitely far away
  double max_norm_ = 0;          // the longest point
};

}  // namespace tb
