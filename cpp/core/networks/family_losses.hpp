// How good a network would be with fewer features and fewer parents.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/networks/families.hpp"

namespace tb {

// The families in the order in which features are taken in, with their probabilities for 0, 1, … parents.
struct Ladder {
  std::size_t classes;
  const std::int64_t* size;
  const Families& families;
  const Smoothing& smoothing;
  const double* concentration;  // null: Laplace
  const double* class_weight;
  // What real columns say, already without the row itself. A step of the order is the next family, or a real column.
  struct Reals {
    std::vector<std::int32_t> step;  // of each step: −1 for the next family, else which of the real columns
    std::size_t most = 0;            // parents
    const double* log = nullptr;     // (reals, most + 1, rows, classes): log p(x | class, the first parents); 0 where x
                                     // is missing
  } reals;
  std::size_t most = 0;  // parents
  std::vector<std::vector<Level>> levels;

  Ladder(const Counts& counts, const Tables& tables, const Families& families, const Smoothing& smoothing,
         const double* concentration, const double* class_weight, Reals reals);
};

// out (most + 1, steps): the log-loss, summed over the rows, of the network of the first s + 1 columns with at most k
// parents each, every row judged by the counts without it (a row of weight 2 is two rows: one of them is left out).
// Where a parent is missing the estimate with the parents before it stands in. The same bits for any number of threads.
template <class T>
void family_losses(const Ladder& ladder, const T* codes, const std::int32_t* y, const double* w, std::size_t n,
                   double* out);

}  // namespace tb
