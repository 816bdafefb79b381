// How the log-loss of P(class) P(x | class)^beta changes with beta.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "kernels/temper.hpp"

namespace tb {

class Tempered {
 public:
  // prior, likelihood: logarithms, (rows, classes). No part take rows whose own class is impossible or below 0, of
  // weight 0, or with a NaN.
  Tempered(const double* prior, const double* likelihood, const std::int32_t* y, const double* w, std::size_t rows,
           std::size_t classes);

  // Does no row say anything of beta?
  bool flat() const { return flat_; }
  // Summed over the rows.
  TemperSums at(double beta) const;

 private:
  std::size_t classes_, blocks_ = 0;
  bool flat_ = true;
  AlignedArray prior_, more_;  // [block][class][row]
  std::vector<double> own_, w_;
};

}  // namespace tb
