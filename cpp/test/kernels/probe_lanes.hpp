// Blocks of lanes (kernels/quadratic.hpp) for the probes.
#pragma once
#include "test/kernels/probe.hpp"
#include "kernels/quadratic.hpp"

namespace tb {

// kRows rows of numbers in [-2, 2] as lanes.
inline List<double> lanes_of(Isa isa, Numbers& some, std::size_t d) {
  const Table<double> table(some.between(-2.0, 2.0, kRows * d), kRows, d, true);
  const List<double> centre(d);
  List<double> lanes(kRows * d);
  TB_CALL_AT(isa, load_lanes, table.view, 0, kRows, centre.data(), lanes.data());
  return lanes;
}

// (d, kRows): the columns of a block, 0 for the rows left out and beyond the last.
inline List<double> columns_of(Isa isa, const List<double>& lanes, std::size_t d, std::size_t rows,
                               std::uint64_t leave) {
  List<double> unit(d * d), out(d * kRows);
  const List<double> bias(d);
  for (std::size_t j = 0; j < d; ++j) unit[j * d + j] = 1.0;
  TB_CALL_AT(isa, add_affine, lanes.data(), rows, leave, d, unit.data(), bias.data(), d, out.data());
  return out;
}

}  // namespace tb
