// Stacking: ridge-penalised multinomial logistic regression on the terms (meta-features) of an ensemble, by damped
// Newton steps; an active set keeps bounded weights from falling below 0.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/runtime/buffer.hpp"
#include "kernels/stacking.hpp"

namespace tb {

// J_tc = start_tc + b_c + sum_d v_d term_dtc; wanted are the v and b with the least
//   sum_t w_t (log sum_c exp J_tc - J_t,y) + 1/2 sum_d ridge_d (v_d - centre_d)^2 + 1/2 bias_ridge sum_c b_c^2
struct StackingData {
  std::size_t terms, rows, classes;
  const float* term;      // (terms, rows, classes), finite; what all classes of a row have in common does not matter
  const std::int32_t* y;  // rows; below 0: the row takes no part
  const double* w;        // rows, or null
  const double* start;    // (rows, classes), finite or -inf: a class that the row cannot have. Rows whose y is such a
                          // class take no part.
  const bool* second;     // rows, or null: which are in the second fold
};

struct RidgePenalty {
  const double* centre;  // terms
  const double* ridge;   // terms
  double bias_ridge;
  const bool* bounded;  // terms, or null: weights that may not fall below 0; their centre is not below 0 either
  const double* first = nullptr;  // (terms + classes): where v and b begin; null: at the centre and at 0
};

struct Weights {
  std::vector<double> v, b;
  double loss = 0.0;      // of the rows at v and b, without the ridges
  std::size_t taken = 0;  // steps
};

enum class Fold { first, second, both };

// A copy of the terms, sorted into blocks once for many searches. Terms in which classes differ by more than 1e9 count
// as if it were 1e9.
class StackingProblem {
 public:
  explicit StackingProblem(const StackingData& rows);

  // Fits the rows of a fold. At most so many Newton steps; fewer once one lowers the penalised loss by less than a
  // millionth of the rows' weight.
  Weights fit(Fold half, const RidgePenalty& pull, std::size_t steps) const;
  // The first sum, at v (terms) and b (classes).
  double loss(Fold half, const double* v, const double* b) const;

  std::size_t terms() const { return terms_; }
  std::size_t classes() const { return classes_; }

 private:
  friend class Newton;
  WeightBlock block(std::size_t b, const double* joint) const;
  void pack(std::size_t b, const StackingData& from, const std::vector<std::uint32_t>& row);
  // joint [block][class][row]: J of block b, at its place
  void at(std::size_t b, const double* v, const double* bias, double* joint) const;

  std::size_t terms_, classes_, rows_, blocks_ = 0, split_ = 0;  // rows_: of a block; split_: blocks of the first half
  std::unique_ptr<Buffer<float>> term_;                          // [block][term][class][row]
  AlignedArray start_;                                           // [block][class][row]
  std::vector<std::int32_t> y_;
  std::vector<double> w_;     // over scale_
  std::vector<double> each_;  // the weight of each block
  double scale_ = 0.0;        // the largest weight
};

// out (size) = the sum of v times term: (terms, size)
void weighted_terms(const float* term, std::size_t terms, std::size_t size, const double* v, double* out);

}  // namespace tb
