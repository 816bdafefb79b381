// The loops of a kernel density: sums of Gaussian bumps, their moments around a centre, and the cells made of these.
// See core/density/kernel_density.hpp for the formulas. Positions enter as x/2 and widths as 2/h, so that the distance
// of two numbers near the end of the range of doubles does not overflow.
#pragma once
#include <cstddef>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr int kDegree = 14;         // of a cell's polynomial
constexpr int kCell = 2 + kDegree;  // doubles of a cell: centre, log f there, slope, then q_2 .. q_14

// What gauss_moments finds about a centre; shares are those of the values in the density at the centre.
struct Moments {
  double sum;             // sum of w_i exp(-(u_i^2 - u_0^2) / 2): the density, up to what is common
  double mean;            // mean of (v_i - v_0) / h over the shares
  double error;           // bound of what the polynomial leaves out on |t| <= reach
  double q[kDegree + 1];  // central moments of the shares divided by k!, for k >= 2
};

}  // namespace tb

// Sum over m values of w_i exp(-(u_i^2 - u_0^2) / 2), u = (x - v) / h, where v_0 is the value nearest to x.
TB_DECLARE(double, gauss_sum,
           (const double* value, const double* weight, std::size_t m, double half_x, double half_near,
            double two_over_h))

// The moments of the shares; share[m] is room to work in.
TB_DECLARE(void, gauss_moments,
           (const double* value, const double* weight, std::size_t m, double half_centre, double half_near,
            double two_over_h, double reach, double* share, Moments* out))

// Adds log f(x[r]) to acc[r] where x[r] lies in a cell that has a polynomial; returns how many rows do not
// (NaN among them) and lists them. Cell k reaches from edge[k] to edge[k + 1]; edge[0] is minus infinity.
TB_DECLARE(std::size_t, gauss_cells,
           (const double* x, std::size_t rows, const double* edge, const double* cell, std::size_t cells,
            double two_over_h, double* acc, unsigned* left))
