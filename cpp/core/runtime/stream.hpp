#pragma once
#include "core/encode/columns.hpp"

namespace tb {

// Reads every value of the table once, as fast as the machine can: the limit that statistics are measured by.
// The answer is a checksum without meaning.
double stream(const Columns& x);

}  // namespace tb
