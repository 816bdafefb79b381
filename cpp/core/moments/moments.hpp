// Weight, mean and centred sum of squares of every class and column (math: Chan's merge of chunks).
#pragma once
#include "core/counts/class_rows.hpp"

namespace tb {

// n, mean, low, m2: (classes, d) each; the mean is mean + low (see double_double.hpp). NaN is missing. Throws BadValue
// infinite, and overflow if m2 is too large for a double. One pass; the same bits for any number of threads.
void moments(const Labelled& t, double* n, double* mean, double* low, double* m2);

}  // namespace tb
