// Do the integers of a table fit a table of counts as they are?
#pragma once
#include "core/encode/columns.hpp"
#include "kernels/integer_range.hpp"

namespace tb {

// The smallest and largest value of all columns, which must be integers or booleans.
Range integer_range(const Columns& x);

}  // namespace tb
