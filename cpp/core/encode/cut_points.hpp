// Where to cut a real column into bins, and the bin of each value.
// The rule everywhere: x >= cut lies to the right, so the code of x is the number of cuts <= x.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/encode/values.hpp"

namespace tb {

// The cuts of all columns, each ascending: size[j] of them for column j, one column after the other.
struct Cuts {
  std::vector<std::int64_t> size;
  std::vector<double> cut;
};

// A cut between neighbouring values a < b: their middle, and always a < cut <= b.
inline double between(double a, double b) {
  const double middle = a / 2 + b / 2;  // a + b could overflow
  return a < middle && middle <= b ? middle : b;
}

// Each of these skips missing values and absent rows, and throws BadValue for an infinity.
// Equal steps between the least and the greatest value.
Cuts cuts_width(const Columns& x, const Rows& rows, std::size_t bins);
// The same weight in each bin, as nearly as ties allow; every cut lies between neighbouring values.
Cuts cuts_frequency(const Columns& x, const Rows& rows, std::size_t bins);
// By class entropy and description length (Fayyad and Irani 1993); rows.y must be given.
Cuts cuts_mdl(const Columns& x, const Rows& rows, std::size_t classes);

// The decimal with the fewest digits in the middle half of the interval between a and b; `otherwise` if there is none.
double shortest_between(double a, double b, double otherwise);
// Each cut becomes the shortest decimal between its neighbouring values, in place: the codes of these rows stay.
void round_cuts(const Columns& x, const Rows& rows, const std::int64_t* size, double* cut);

// Codes of a column of m cuts are of 1, 2 or 4 bytes, signed: -1 is a missing value.
inline std::size_t code_size(std::size_t m) { return m <= 127 ? 1 : m <= 32767 ? 2 : 4; }

// out[j]: x.n codes of code_size(size[j]) bytes. Absent rows get -1. Throws BadValue for an infinity.
void digitize(const Columns& x, const Rows& rows, const std::int64_t* size, const double* cut, void* const* out);

// The same cuts, column by column, as one.
Cuts join(const std::vector<std::vector<double>>& columns);

}  // namespace tb
