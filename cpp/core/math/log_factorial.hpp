// log x! = lgamma(x + 1) for x >= 0; small whole numbers, the usual counts, from a table.
#pragma once

namespace tb {

double log_factorial(double x);

}  // namespace tb
