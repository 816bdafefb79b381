// Averaged networks (AODE, AnDE), one row at a time: before the next score the order of parents and the concentrations
// are chosen again, and a score reads the cells of its row alone.
#pragma once
#include <cstdint>
#include <vector>

#include "core/networks/averaged_networks.hpp"
#include "core/rowpath/counted_row.hpp"

namespace tb {

// See AveragedCounts. grid: empty for Laplace smoothing.
struct AveragedOptions {
  std::size_t order;
  double min_count;
  std::vector<double> levels;
  double alpha;
  std::vector<double> grid;
};

class AveragedRow final : public CountedRow {
 public:
  // class_weight: whole numbers
  AveragedRow(CountedSums sums, std::vector<double> class_weight, AveragedOptions options);

  // What is chosen for the counts as they are now: the rank of each column, and (order, columns) concentrations.
  void chosen(std::vector<std::int32_t> rank, std::vector<double> concentration);

  void learn(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  bool add(double* acc) override;

 private:
  void choose_again();

  std::vector<double> class_weight_;
  AveragedOptions options_;
  std::vector<std::int32_t> rank_;
  std::vector<double> concentration_, set_weight_, log_;
  std::vector<std::uint32_t> packed_;
  AveragedCounts counts_;
};

}  // namespace tb
