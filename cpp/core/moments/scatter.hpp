// Weight, mean and centred sums of products of the classes: all that a Gaussian discriminant learns (math: section 5).
#pragma once
#include "core/moments/row_spans.hpp"

namespace tb {

// n (K), mean (K, d), s: (K, d, d), or (1, d, d) if pooled: the sum over the classes. From rows without missing values;
// low (K, d): what the means lack as doubles, below half a unit in their last place.
// gives back the weight of the others. Throws BadValue infinite, and overflow if s is too large for a double.
// One pass; the same bits for any number of threads; beside the results less than 64 MB.
double scatter(const ClassTable& t, bool pooled, double* n, double* mean, double* low, double* s);

// Entry [c, i, j], (K, d, d) each, runs over the rows of class c where both i and j are present: their weight, their
// mean of x_i (and low), their centred sum of x_i x_j; s is (1, d, d) if pooled, the sum over the classes. What
// rounding leaves is small beside the spread of columns i and j in the class, not beside that of the pair's rows alone.
void pairwise_scatter(const ClassTable& t, bool pooled, double* n, double* mean, double* low, double* s);

}  // namespace tb
