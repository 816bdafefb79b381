// With F'F = inverse of the covariance, and m the coordinates that are missing, o the others:
//   log p(x_o) = constant + |m| log(2 pi) / 2 - log |det R| - min over x_m of |F (x - mean)|^2 / 2,    F_m = Q R,
// for the least of |F (x - mean)|^2 is what of it is outside the span of the columns F_m, and R'R the block m of F'F.
// That costs d m^2 for a pattern and d m more than a complete row for a row. Where most is missing, rows of F^-1 = L
// are fewer:
//   L_o' = Q R,   covariance_oo = R'R,   log p(x_o) = -log |det R| - |o| log(2 pi) / 2 - |R^-T (x_o - mean_o)|^2 / 2.
// Neither squares a matrix. Vectors are scaled by powers of two, so that no unit of a column is too large to be
// squared.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/encode/columns.hpp"
#include "core/discriminant/quadratic_parts.hpp"

namespace tb {

constexpr double kHalfLog2Pi = 0.91893853320467274178;

// Vectors scaled to sizes about 1: vector j is 2^power[j] times what stands there.
struct ScaledVectors {
  ScaledVectors(std::size_t d, std::size_t stride);
  void scale(std::size_t j, std::size_t stride, std::size_t d);
  AlignedArray vectors;
  std::vector<double> unit;  // 2^power
  std::vector<int> power;
};

// What all rows share.
class MarginalModel {
 public:
  MarginalModel(const Columns& cols, const Quadratic& q);

  Columns cols;
  Quadratic q;
  std::size_t d, stride;
  std::vector<std::uint32_t> keep;     // columns that vary
  std::vector<ScaledVectors> columns;  // of each covariance: the columns of F
  std::vector<double> centre, places;  // where each class is, whitened, if they share a covariance; else zeros

  // The rows of L = F^-1, made when the first row asks.
  const ScaledVectors& root(std::size_t k) const;

 private:
  ScaledVectors columns_of(std::size_t k) const;

  mutable std::vector<std::unique_ptr<ScaledVectors>> roots_;
  std::unique_ptr<std::once_flag[]> once_;
};

// The end of a score: -infinity where a distance is larger than any number.
inline double lasting(double start, double square) {
  return std::isnan(square) ? -std::numeric_limits<double>::infinity() : start - 0.5 * square;
}

// Rows of few columns (kMarginalMost in kernels/marginal.hpp): as marginal_scores, by one thread; one row in each lane.
class MarginalLanes {
 public:
  explicit MarginalLanes(const MarginalModel& model);
  void run(const std::int64_t* rows, std::size_t count, double* out);

 private:
  struct Row {
    std::uint64_t missing;  // columns, of those that vary
    std::uint32_t row;
    std::uint32_t count;  // of the missing
  };
  void read(const std::int64_t* rows, std::size_t count);
  void take(const Row* some, std::size_t used);
  bool decomposed();
  void decompose(const ScaledVectors& all, bool backwards);
  void without(std::size_t k);
  void within(std::size_t k);
  const double* values(std::size_t lane) const { return x_.data() + lane_[lane]->row * m_.d; }
  double& answer(std::size_t lane, std::size_t c) { return out_[lane_[lane]->row * m_.q.classes + c]; }

  const MarginalModel& m_;
  double* out_ = nullptr;
  std::vector<double> x_;  // (rows, d)
  std::vector<Row> rows_;
  std::vector<const Row*> lane_;  // the rows in hand; a lane to spare repeats the last
  std::size_t used_ = 0;
  std::vector<std::uint64_t> done_;                // the patterns in the lanes of q_
  std::vector<std::uint32_t> list_, begin_, end_;  // (vectors, lanes): which; where each is not zero
  std::size_t size_ = 0;                           // vectors
  AlignedArray q_, r_, e_, z_, work_;
  std::vector<double> log_det_;  // of R, of each lane
};

}  // namespace tb
