#include "core/rowpath/counted_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tb {

CountedRow::CountedRow(CountedSums sums)
    : numbers(sums.shape.size.size()),
      codes(sums.shape.size.size(), kMissingCode),
      classes_(sums.classes),
      shape_(std::move(sums.shape)),
      columns_(std::move(sums.columns)),
      tables_(shape_.size.size(), shape_.size.data(), shape_.start.size() - 1, shape_.column.data(),
              shape_.start.data()),
      first_(shape_.size.size() + 1, 0),
      single_(std::move(sums.single)),
      joint_(std::move(sums.joint)) {
  for (std::size_t j = 0; j < codes.size(); ++j) first_[j + 1] = first_[j] + static_cast<std::size_t>(shape_.size[j]);
}

bool CountedRow::read() {
  for (std::size_t j = 0; j < codes.size(); ++j) {
    const CountedColumn& column = columns_[j];
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
bool CountedRow::each_cell(std::size_t c, F&& f) {
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

double& CountedRow::level(std::size_t c, std::size_t j) {
  return single_[c * first_.back() + first_[j] + static_cast<std::size_t>(codes[j])];
}

bool CountedRow::takes(std::size_t c, double w) {
  constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  return w == 1 && read() && each_cell(c, [](std::uint32_t n) { return n < most; });
}

bool CountedRow::gives(std::size_t c, double w) {
  if (w != 1 || !read()) return false;
  for (std::size_t j = 0; j < codes.size(); ++j) {
    if (codes[j] == kMissingCode) continue;
    double all = 0;
    for (std::size_t k = 0; k < classes_; ++k) all += level(k, j);
    if (level(c, j) < 1 || (!columns_[j].cut && all < 2)) return false;  // a level without rows loses its name
  }
  return each_cell(c, [](std::uint32_t n) { return n > 0; });
}

void CountedRow::change(std::size_t c, int sign) {
  for (std::size_t j = 0; j < codes.size(); ++j) {
    if (codes[j] != kMissingCode) level(c, j) += sign;
  }
  each_cell(c, [&](std::uint32_t& n) {
    n += static_cast<std::uint32_t>(sign);  // wraps around for -1
    return true;
  });
  stale_ = true;
}

void CountedRow::learn(std::size_t c, double) { change(c, 1); }

void CountedRow::forget(std::size_t c, double) { change(c, -1); }

}  // namespace tb
