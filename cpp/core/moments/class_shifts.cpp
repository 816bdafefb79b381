#include <algorithm>
#include <cmath>

#include "core/moments/row_spans.hpp"
#include "kernels/gather.hpp"

namespace tb {
namespace {

constexpr std::size_t kSamples = 16;  // rows per class, if there are so many

// Running means of a few rows of each class. The first value is the origin, so that equal values have exactly
// themselves as their mean.
class Shifts {
 public:
  Shifts(const ClassTable& t, bool complete)
      : t_(t),
        complete_(complete),
        origin_(t.classes * t.x.d),
        sum_(origin_.size()),
        seen_(origin_.size()),
        rows_(t.classes),
        lacking_(t.classes, t.x.d),
        lacking_classes_(t.x.d > 0 ? t.classes : 0),
        x_(t.x.d) {}

  bool done() const { return lacking_classes_ == 0; }
  std::uint32_t rows(std::size_t c) const { return rows_[c]; }
  bool lacks(std::size_t c) const { return lacking_[c] > 0; }

  void visit(std::size_t i) {
    const auto c = static_cast<std::size_t>(t_.y[i]);
    const std::uint32_t self = 0;
    TB_CALL(gather_rows, t_.x, i, &self, 1, x_.data());
    if (complete_ && !std::all_of(x_.begin(), x_.end(), [](double v) { return std::isfinite(v); })) return;
    ++rows_[c];
    const bool lacked = lacks(c);
    for (std::size_t j = 0; j < x_.size(); ++j) {
      if (!std::isfinite(x_[j])) continue;
      const std::size_t at = c * x_.size() + j;
      if (seen_[at]++ == 0) {
        origin_[at] = x_[j];
        --lacking_[c];
      }
      sum_[at] += x_[j] - origin_[at];
    }
    if (lacked && !lacks(c)) --lacking_classes_;
  }

  std::vector<double> means() {
    for (std::size_t at = 0; at < origin_.size(); ++at) {
      if (seen_[at] == 0) continue;
      const double mean = origin_[at] + sum_[at] / seen_[at];
      if (std::isfinite(mean)) origin_[at] = mean;
    }
    return std::move(origin_);
  }

 private:
  ClassTable t_;
  bool complete_;
  std::vector<double> origin_, sum_;
  std::vector<std::uint32_t> seen_, rows_;
  std::vector<std::size_t> lacking_;  // columns of a class without a value yet
  std::size_t lacking_classes_;
  std::vector<double> x_;
};

}  // namespace

// First rows from all over the table, then, for classes still without any, the whole table until they are found.
std::vector<double> class_shifts(const ClassTable& t, bool complete) {
  Shifts shifts(t, complete);
  const std::size_t wanted = kSamples * std::max<std::size_t>(t.classes, 1);
  const std::size_t step = std::max<std::size_t>(1, t.x.n / wanted);
  const auto usable = [&](std::size_t i) { return t.counts(i) && static_cast<std::size_t>(t.y[i]) < t.classes; };
  for (std::size_t i = 0; i < t.x.n; i += step) {
    if (usable(i) && shifts.rows(static_cast<std::size_t>(t.y[i])) < kSamples) shifts.visit(i);
  }
  for (std::size_t i = 0; i < t.x.n && !shifts.done(); ++i) {
    if (usable(i) && shifts.lacks(static_cast<std::size_t>(t.y[i]))) shifts.visit(i);
  }
  return shifts.means();
}

}  // namespace tb
