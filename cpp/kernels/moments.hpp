// Count, mean and centred sum of squares of every (class, column): the hot loops.
#pragma once
#include "core/dispatch.hpp"
#include "kernels/rows.hpp"

namespace tb {

// Doubles that the accumulators of one slot need for d columns; a table of them starts at a slot's number
// times this.
constexpr std::size_t kMomentFields = 4;  // shift, sum of w*z, sum of w*z*z, weight; z = x - shift

// The totals of one class: arrays of d.
struct ClassMoments {
  double* n;
  double* mean;
  double* m2;
};

}  // namespace tb

TB_DECLARE(std::size_t, moments_size, (std::size_t d))
// Empties a slot and takes row `row` of the block as the shift; no_shift: the first value that is not
// missing, column by column, will be it (for the careful walk).
TB_DECLARE(void, open_moments, (const RowList& b, std::size_t row, bool no_shift, double* slot))
// Adds the rows, believing that nothing is missing; the careful one leaves NaN out and counts the rest.
TB_DECLARE(void, add_moments, (const RowList& b, double* acc))
TB_DECLARE(void, add_moments_careful, (const RowList& b, double* acc))
// Turns a slot's sums into weight, mean and m2; `weight` < 0: counted by the careful walk. False if a sum
// is not finite: something is missing or infinite, or too large to be squared.
TB_DECLARE(bool, close_moments, (double* slot, std::size_t d, double weight))
// Adds a closed slot to the class's totals (Chan, Golub and LeVeque 1979).
TB_DECLARE(void, merge_moments, (const double* slot, std::size_t d, ClassMoments total))
