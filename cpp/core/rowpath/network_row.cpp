#include "core/rowpath/network_row.hpp"

#include <algorithm>

namespace tb {

NetworkRow::NetworkRow(CountedSums sums, NetworkShape shape, std::vector<double> levels, double alpha,
                       std::vector<double> grid)
    : CountedRow(std::move(sums)),
      shape_(std::move(shape)),
      levels_(std::move(levels)),
      alpha_(alpha),
      grid_(std::move(grid)),
      concentration_(shape_.parent.size()),
      log_(classes()) {}

bool NetworkRow::add(double* acc) {
  if (!read() || std::any_of(codes.begin(), codes.end(), [](std::int64_t code) { return code == kMissingCode; }))
    return false;  // tables sum out what is missing
  const Counts counts{classes(), single().data(), joint().data(), nullptr, tables().cells()};
  const Families families{shape_.child.size(),  shape_.child.data(),
                          shape_.parent.data(), shape_.parent_start.data(),
                          shape_.table.data(),  shape_.group.empty() ? nullptr : shape_.group.data()};
  const Smoothing smoothing{alpha_, levels_.data()};
  const double* a = grid_.empty() ? nullptr : concentration_.data();
  if (stale_ && a)
    family_concentrations(counts, tables(), families, smoothing, {grid_.data(), grid_.size()}, concentration_.data());
  stale_ = false;
  family_row(counts, tables(), families, smoothing, a, codes.data(), log_.data());
  for (std::size_t c = 0; c < classes(); ++c) acc[c * kRows] += log_[c];
  return true;
}

}  // namespace tb
