// Back-off: an estimate from the counts of a cell, smoothed towards the one with a parent less. The one place of it.
//
//   P(x | …) = (n + a P₋) / (total + a),   P₋ the estimate with a parent less, a its concentration; P₋ if nothing is
//   there.
//
// Laplace smoothing is the same with an even P₋ = 1 / v and a = alpha v. A row is left out by taking what it has in
// the counts from n and from total. The loops of kernels/averaged.cpp (fill_cell) and kernels/back_off_chains.cpp
// (fold_order, fold_lifts) are the same formula for many cells at once; core/networks/concentrations.hpp sums its
// logarithms over cells that are left out, by which concentrations are chosen.
#pragma once
#include <cstddef>

namespace tb {

// Concentrations to choose from.
struct Grid {
  const double* concentrations;
  std::size_t size;
};

// A count without `removed` of it.
inline double less(double n, double removed) { return n > removed ? n - removed : 0.0; }

// (n + a base) / (total + a); base where that has no rows to stand on.
inline double backed_off(double n, double total, double base, double a) {
  return total + a > 0 ? (n + a * base) / (total + a) : base;
}

// (n + alpha) / (total + alpha levels)
inline double smoothed(double n, double total, double alpha, double levels) {
  const double below = total + alpha * levels;
  return below > 0.0 ? (n + alpha) / below : 1.0 / levels;
}

}  // namespace tb
