// A number with twice the digits of a double: for means that are large beside the spread of the data.
#pragma once

namespace tb {

struct Pair {
  double high = 0.0;
  double low = 0.0;
};

// high + low = a + b exactly, high = a + b rounded (Knuth), unless that overflows.
inline Pair exact_sum(double a, double b) {
  const double high = a + b, back = high - a;
  return {high, (a - (high - back)) + (b - back)};
}

}  // namespace tb
