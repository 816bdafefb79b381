// How the log-loss of P(class) P(x | class)^beta changes with beta.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "kernels/temperature.hpp"

namespace tb {

class TemperatureLoss {
 public:
  // prior, likelihood: logarithms, (rows, classes). No part take rows whose own class is impossible or below 0, of
  // weight 0, or with a NaN.
  TemperatureLoss(const double* prior, const double* likelihood, const std::int32_t* y, const double* w,
                  std::size_t rows, std::size_t classes);

  // Does no row say anything of beta?
  bool flat() const { return flat_; }
  // Summed over the rows.
  TemperatureSums at(double beta) const;

  struct Search {
    double min_beta, max_beta;
    double penalty, centre;  // the loss has penalty / 2 log^2(beta / centre) besides
    double tolerance;        // of log beta
    std::size_t steps;
  };
  struct Best {
    double beta, loss;  // loss: of the rows alone
  };
  // The beta with the least loss; `centre` if no row says anything of it. The loss is convex in beta, and its slope
  //   sum w (E[L] - L_y),   L the log-likelihoods, the mean over P(class | x),
  // never falls: Newton's steps in log beta, kept between the last two points where the slope had different signs.
  Best best(const Search& search) const;

 private:
  std::size_t classes_, blocks_ = 0;
  bool flat_ = true;
  AlignedArray prior_, likelihood_;  // [block][class][row]
  std::vector<double> own_, w_;
};

}  // namespace tb
