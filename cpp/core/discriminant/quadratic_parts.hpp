// The scores of Gaussian discriminants as parts of a log joint (math: section 5).
// A row with a missing value gets nothing and is noted in RowFlags; an infinity is a BadValue.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/scoring/part.hpp"

namespace tb {

// A set of rows that several threads may add to.
class RowFlags {
 public:
  explicit RowFlags(std::size_t n) : n_(n), words_((n + 63) / 64) {}
  RowFlags(const RowFlags&) = delete;
  RowFlags& operator=(const RowFlags&) = delete;
  std::size_t size() const { return n_; }
  void set(std::size_t row) { words_[row / 64].fetch_or(std::uint64_t{1} << row % 64, std::memory_order_relaxed); }
  bool has(std::size_t row) const { return (words_[row / 64].load(std::memory_order_relaxed) >> row % 64 & 1) != 0; }
  std::vector<std::int64_t> rows() const;

 private:
  std::size_t n_;
  std::vector<std::atomic<std::uint64_t>> words_;
};

// acc += constant_c - |factor_c (x - mean_c - low_c)|^2 / 2. mean and low (K, d), constant (K); factor (K, d, d), or
// (1, d, d) if all classes share one; lower triangles, what is above the diagonal is not read. The caller keeps all of
// it alive.
struct Quadratic {
  const double* mean;
  const double* low;
  const double* factor;
  bool shared;
  const double* constant;
  std::size_t classes;
};
// For a shared factor, the classes' means relative to a point between them, whitened:
// |factor (x - mean_c - low_c)| = |factor (x - centre) - place_c|. centre (d), place (K, d).
struct WhitenedMeans {
  std::vector<double> centre, place;
};
WhitenedMeans whitened_means(const Quadratic& q, std::size_t d);

std::unique_ptr<Part> quadratic_part(const Columns& cols, const Quadratic& q, RowFlags& missing);

// acc += bias_c + weight_c (x - centre). weight (K, d), bias (K), centre (d): near the data, it keeps digits that a
// large common offset would cost.
struct Affine {
  const double* weight;
  const double* bias;
  const double* centre;
  std::size_t classes;
};
std::unique_ptr<Part> affine_part(const Columns& cols, const Affine& a, RowFlags& missing);

// out (n, K) = what one part adds, NaN for rows with missing values.
void part_scores(const Part& part, std::size_t n, std::size_t classes, const RowFlags& missing, double* out);

}  // namespace tb
