// Count, mean and centred sum of squares of every (class, column): the hot loops.
#pragma once
#include "core/runtime/dispatch.hpp"
#include "kernels/rows.hpp"

namespace tb {

// The accumulators of a slot: shift, sum of w*z, sum of w*z*z, weight; z = x - shift. Closed: shift, offset of
// the mean from it, m2, weight.
constexpr std::size_t kMomentFields = 4;

enum class Closed : int {
  well,
  cancelled,   // the shift was far outside the data; where m2 < 0, most digits of it are lost
  not_finite,  // something is missing or infinite, or too large to be squared
};

// The totals of one class: arrays of d. The mean is shift + offset, kept apart because far from zero a
// rounded mean would spoil the differences of means that Chan's formula needs.
struct ClassMoments {
  double* n;
  double* shift;
  double* offset;
  double* m2;
};

}  // namespace tb

// Doubles that one slot needs.
TB_DECLARE(std::size_t, moments_size, (std::size_t d))
// Empties a slot and takes row `row` of the block as the shift; false if a value of it is missing or infinite.
// no_shift: the first value that is not missing, column by column, will be it (for the careful walk).
TB_DECLARE(bool, open_moments, (const RowList& b, std::size_t row, bool no_shift, double* slot))
// Adds the rows, believing that nothing is missing; the careful one leaves NaN out and counts the rest.
TB_DECLARE(void, add_moments, (const RowList& b, double* acc))
TB_DECLARE(void, add_moments_careful, (const RowList& b, double* acc))
// Closes a slot that weighs `weight` (< 0: as counted by the careful walk).
TB_DECLARE(Closed, close_moments, (double* slot, std::size_t d, double weight))
// Column j of a slot.
TB_DECLARE(ClassMoments, moments_of_column, (double* slot, std::size_t d, std::size_t j))
// Adds a closed slot to the class's totals (Chan, Golub and LeVeque 1979).
TB_DECLARE(void, merge_moments, (double* slot, std::size_t d, const ClassMoments& total))
