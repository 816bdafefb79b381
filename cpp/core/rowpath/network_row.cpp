#include "core/rowpath/network_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tb {

NetworkRow::NetworkRow(std::size_t classes, NetworkShape shape, std::vector<NetworkColumn> columns,
                       std::vector<double> single, std::vector<std::uint32_t> joint, std::vector<double> levels,
                       double alpha, std::vector<double> grid)
    : numbers(shape.size.size()),
      codes(shape.size.size(), kMissingCode),
      classes_(classes),
      shape_(std::move(shape)),
      columns_(std::move(columns)),
      tables_(shape_.size.size(), shape_.size.data(), shape_.start.size() - 1, shape_.column.data(),
              shape_.start.data()),
      first_(shape_.size.size() + 1, 0),
      single_(std::move(single)),
      joint_(std::move(joint)),
      levels_(std::move(levels)),
      alpha_(alpha),
      grid_(std::move(grid)),
      concentration_(shape_.parent.size()),
      log_(classes) {
  for (std::size_t j = 0; j < codes.size(); ++j) first_[j + 1] = first_[j] + static_cast<std::size_t>(shape_.size[j]);
}

bool NetworkRow::read() {
  for (std::size_t j = 0; j < codes.size(); ++j) {
    const NetworkColumn& column = columns_[j];
    if (column.cut) {
      const auto& points = column.points;
      const bool missing = std::isnan(numbers[j]);
      codes[j] = missing ? kMissingCode : std::upper_bound(points.begin(), points.end(), numbers[j]) - points.begin();
    }
    if (codes[j] == kMissingCode) continue;
    if (codes[j] < 0 || codes[j] >= shape_.size[j] || !column.exist[static_cast<std::size_t>(codes[j])]) return false;
  }
  return true;
}

template <class F>
bool NetworkRow::each_cell(std::size_t c, F&& f) {
  for (std::size_t t = 0; t < tables_.count; ++t) {
    std::size_t cell = 0;
    bool missing = false;
    for (std::size_t i = 0; i < tables_.order(t); ++i) {
      const auto j = static_cast<std::size_t>(tables_.columns(t)[i]);
      missing = missing || codes[j] == kMissingCode;
      cell = cell * static_cast<std::size_t>(shape_.size[j]) + static_cast<std::size_t>(missing ? 0 : codes[j]);
    }
    if (!missing && !f(joint_[c * tables_.cells() + tables_.offset[t] + cell])) return false;
  }
  return true;
}

double& NetworkRow::level(std::size_t c, std::size_t j) {
  return single_[c * first_.back() + first_[j] + static_cast<std::size_t>(codes[j])];
}

bool NetworkRow::takes(std::size_t c, double w) {
  constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  return w == 1 && read() && each_cell(c, [](std::uint32_t n) { return n < most; });
}

bool NetworkRow::gives(std::size_t c, double w) {
  if (w != 1 || !read()) return false;
  for (std::size_t j = 0; j < codes.size(); ++j) {
    if (codes[j] == kMissingCode) continue;
    double all = 0;
    for (std::size_t k = 0; k < classes_; ++k) all += level(k, j);
    if (level(c, j) < 1 || (!columns_[j].cut && all < 2)) return false;  // a level without rows loses its name
  }
  return each_cell(c, [](std::uint32_t n) { return n > 0; });
}

void NetworkRow::change(std::size_t c, int sign) {
  for (std::size_t j = 0; j < codes.size(); ++j) {
    if (codes[j] != kMissingCode) level(c, j) += sign;
  }
  each_cell(c, [&](std::uint32_t& n) {
    n += static_cast<std::uint32_t>(sign);  // wraps around for -1
    return true;
  });
  stale_ = true;
}

void NetworkRow::learn(std::size_t c, double) { change(c, 1); }

void NetworkRow::forget(std::size_t c, double) { change(c, -1); }

bool NetworkRow::add(double* acc) {
  if (!read() || std::any_of(codes.begin(), codes.end(), [](std::int64_t code) { return code == kMissingCode; }))
    return false;  // tables sum out what is missing
  const Counts counts{classes_, single_.data(), joint_.data(), nullptr, tables_.cells()};
  const Families families{shape_.child.size(),  shape_.child.data(),
                          shape_.parent.data(), shape_.parent_start.data(),
                          shape_.table.data(),  shape_.group.empty() ? nullptr : shape_.group.data()};
  const Smoothing smoothing{alpha_, levels_.data()};
  const double* a = grid_.empty() ? nullptr : concentration_.data();
  if (stale_ && a)
    family_concentrations(counts, tables_, families, smoothing, {grid_.data(), grid_.size()}, concentration_.data());
  stale_ = false;
  family_row(counts, tables_, families, smoothing, a, codes.data(), log_.data());
  for (std::size_t c = 0; c < classes_; ++c) acc[c * kRows] += log_[c];
  return true;
}

}  // namespace tb
