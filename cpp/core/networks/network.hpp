// The log joint of a network: Σ over families of log P(child | class, parents), missing values summed out exactly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/networks/families.hpp"
#include "core/networks/gaussian_families.hpp"

namespace tb {

// The probabilities of a network's families, made of their logarithms when the first row asks, by whatever thread.
class Shares {
 public:
  Shares(const double* log, std::size_t count) : log_(log), count_(count) {}
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;
  const double* get() const;  // with some numbers to spare: see kSumProductPad

 private:
  const double* log_;
  std::size_t count_;
  mutable std::once_flag once_;
  mutable std::vector<double> made_;
};

// A network ready to score. Every discrete column is the child of one family; families are in topological order. Real
// columns are children only.
struct Network {
  std::size_t d;
  std::size_t classes;
  const std::int64_t* size;
  Families families;
  const std::size_t* offset;  // of each family's cells in log
  const double* log;          // (cells, classes)
  RealFamilies reals;
  const Shares* shares;  // of log; null: rows with missing values are summed by logarithms, which is slow
};

constexpr double kMostCells = 1 << 22;  // numbers in one table of a sum over missing values

// Too many missing values hang together in one row: summing over them would take a table of this many cells.
struct TooManyMissing {
  std::size_t row;
  double cells;
};

// out[r * classes + c] = log P(row r | class c). codes: packed, see core/counts/joint_tables.hpp.
template <class T>
void network_scores(const Network& network, const T* codes, std::size_t n, double* out);

// log p(the values of one row that are there | class): code[j] < 0 is missing; row: where its real values are. Exact,
// by eliminating one missing column after another. out: (classes).
void eliminate(const Network& network, const std::int64_t* code, std::size_t row, double* out);

}  // namespace tb
