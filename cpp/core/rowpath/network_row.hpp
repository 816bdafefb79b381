// A network of counted families, one row at a time: the concentrations are chosen again before the next score, and a
// score reads the cells of its row alone.
#pragma once
#include <cstdint>
#include <vector>

#include "core/networks/families.hpp"
#include "core/rowpath/counted_row.hpp"

namespace tb {

// What a network is made of; see Families.
struct NetworkShape {
  std::vector<std::int32_t> child, parent;
  std::vector<std::int64_t> parent_start, table;
  std::vector<std::int32_t> group;  // empty: each class has its own counts
};

class NetworkRow final : public CountedRow {
 public:
  // levels, alpha: see Smoothing; grid: empty for Laplace smoothing.
  NetworkRow(CountedSums sums, NetworkShape shape, std::vector<double> levels, double alpha, std::vector<double> grid);

  bool add(double* acc) override;

 private:
  NetworkShape shape_;
  std::vector<double> levels_;
  double alpha_;
  std::vector<double> grid_, concentration_, log_;
};

}  // namespace tb
