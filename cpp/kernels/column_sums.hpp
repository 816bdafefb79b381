// Sums of counts, and counts of values above a threshold, of every (class, column): the hot loops.
#pragma once
#include "core/runtime/dispatch.hpp"
#include "kernels/rows.hpp"

// Doubles that one slot needs: the sum and the weight of the values that are not missing.
TB_DECLARE(std::size_t, sums_size, (std::size_t d))
// Adds w * x. False if a value is missing, negative or infinite; the careful one leaves missing values out
// and returns false for negative and infinite ones only.
TB_DECLARE(bool, add_sums, (const RowList& b, double* acc))
TB_DECLARE(bool, add_sums_careful, (const RowList& b, double* acc))
// Adds w where x > threshold. False if a value is missing; the careful one leaves them out.
TB_DECLARE(bool, add_ones, (const RowList& b, double threshold, double* acc))
TB_DECLARE(bool, add_ones_careful, (const RowList& b, double threshold, double* acc))
// Adds a slot to the class's totals n and s (arrays of d); weight < 0: counted by a careful walk.
TB_DECLARE(void, merge_sums, (const double* slot, std::size_t d, double weight, double* n, double* s))
