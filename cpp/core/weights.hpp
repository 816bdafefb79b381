// Weights of the terms of a log-linear classifier, for instance of the members of an ensemble, by a damped Newton's
// method.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tb {

// J_tc = start_tc + b_c + sum_d v_d term_dtc; wanted are the v and b with the least
//   sum_t w_t (log sum_c exp J_tc - J_t,y) + 1/2 sum_d ridge_d (v_d - centre_d)^2 + 1/2 bias_ridge sum_c b_c^2
struct WeightProblem {
  std::size_t terms, rows, classes;
  const float* term;      // (terms, rows, classes), finite; what all classes of a row have in common does not matter
  const std::int32_t* y;  // rows; below 0: the row takes no part
  const double* w;        // rows, or null
  const double* start;    // (rows, classes), finite or -inf: a class that the row cannot have. Rows whose y is such a
                          // class take no part.
  const double* centre;   // terms
  const double* ridge;    // terms
  double bias_ridge;
  const bool* bounded;  // terms, or null: weights that may not fall below 0; their centre is not below 0 either
  const double* first = nullptr;  // (terms + classes): where v and b begin; null: at the centre and at 0
};

struct Weights {
  std::vector<double> v, b;
  double loss = 0.0;      // of the rows at v and b, without the ridges
  std::size_t taken = 0;  // steps
};

// At most so many steps; fewer once a step lowers the whole by less than a millionth of the rows' weight. Terms in
// which classes differ by more than 1e9 count as if it were 1e9. Works on a copy of the terms, sorted into blocks.
Weights fit_weights(const WeightProblem& problem, std::size_t steps);

}  // namespace tb
