// Weighted sums of count columns, and weights of values above a threshold, of every class and column.
#pragma once
#include "core/counts/class_rows.hpp"

namespace tb {

// n, s: (classes, d): weight of the values that are not missing, sum of w * x. Throws BadValue negative,
// infinite, or overflow if a sum is too large for a double.
void sums(const Labelled& t, double* n, double* s);

// n, ones: (classes, d): weight of the values that are not missing; of those above the threshold.
void binary_counts(const Labelled& t, double threshold, double* n, double* ones);

}  // namespace tb
