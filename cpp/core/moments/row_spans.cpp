#include "core/moments/row_spans.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/gather.hpp"

namespace tb {

RowSpans::RowSpans(const ClassTable& t, bool by_class) : t_(t), by_class_(by_class), direct_(readable_in_place(t.x)) {}

void RowSpans::list(std::size_t begin, std::size_t end) {
  begin_ = begin;
  row_.clear();
  cls_.clear();
  weight_.clear();
  for (std::size_t i = begin; i < end; ++i) {
    if (!t_.counts(i)) continue;
    if (static_cast<std::size_t>(t_.y[i]) >= t_.classes) {
      throw std::invalid_argument("class code " + std::to_string(t_.y[i]) + " of row " + std::to_string(i) +
                                  ": there are only " + std::to_string(t_.classes) + " classes");
    }
    if (t_.w) {
      if (!(t_.w[i] > 0.0) || std::isinf(t_.w[i])) {
        throw std::invalid_argument("weight of row " + std::to_string(i) + ": must be a finite number, not negative");
      }
      weight_.push_back(t_.w[i]);
    }
    row_.push_back(static_cast<std::uint32_t>(i - begin));
    cls_.push_back(static_cast<std::uint32_t>(t_.y[i]));
  }
  if (by_class_) order();
  root_.resize(weight_.size());
  std::transform(weight_.begin(), weight_.end(), root_.begin(), [](double w) { return std::sqrt(w); });
  cut();
}

// A counting sort by class.
void RowSpans::order() {
  const std::size_t rows = row_.size();
  start_.assign(t_.classes + 1, 0);
  for (const std::uint32_t c : cls_) ++start_[c + 1];
  for (std::size_t c = 0; c < t_.classes; ++c) start_[c + 1] += start_[c];
  spare_row_.resize(rows);
  spare_cls_.resize(rows);
  spare_weight_.resize(weight_.size());
  for (std::size_t k = 0; k < rows; ++k) {
    const std::uint32_t to = start_[cls_[k]]++;
    spare_row_[to] = row_[k];
    spare_cls_[to] = cls_[k];
    if (t_.w) spare_weight_[to] = weight_[k];
  }
  row_.swap(spare_row_);
  cls_.swap(spare_cls_);
  weight_.swap(spare_weight_);
}

void RowSpans::cut() {
  spans_.clear();
  for (std::size_t from = 0; from < row_.size();) {
    std::size_t to = std::min(from + kPackRows, row_.size());
    if (by_class_) {
      while (cls_[to - 1] != cls_[from]) --to;  // sorted: the run of this class ends before `to`
    }
    spans_.push_back({from, to - from});
    from = to;
  }
}

RowPick RowSpans::preview(const Span& s) const {
  if (!direct_) return {{nullptr, 0, Dtype::f64, 0}, nullptr, nullptr, nullptr, 0};
  const Column& first = t_.x.col[0];
  return {{first.data + static_cast<std::ptrdiff_t>(begin_) * first.stride, first.stride, first.dtype, t_.x.d},
          row_.data() + s.from,
          cls(s),
          root(s),
          s.count};
}

RowPick RowSpans::pick(const Span& s, AlignedArray& scratch) const {
  if (direct_) return preview(s);
  static const std::vector<std::uint32_t> in_turn = [] {
    std::vector<std::uint32_t> v(kPackRows);
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = static_cast<std::uint32_t>(k);
    return v;
  }();
  scratch.at_least(kPackRows * t_.x.d);
  TB_CALL(gather_rows, t_.x, begin_, row_.data() + s.from, s.count, scratch.data());
  const auto stride = static_cast<std::ptrdiff_t>(t_.x.d * sizeof(double));
  return {{reinterpret_cast<const char*>(scratch.data()), stride, Dtype::f64, t_.x.d},
          in_turn.data(),
          cls(s),
          root(s),
          s.count};
}

double RowSpans::keep(Span& s, const std::uint32_t* kept, std::size_t rows) {
  if (rows == s.count) return 0.0;
  double lost = 0.0;
  std::size_t k = 0;
  for (std::size_t from = 0; from < s.count; ++from) {
    const std::size_t at = s.from + from, to = s.from + k;
    if (k == rows || kept[k] != from) {
      lost += weight(at);
      continue;
    }
    ++k;
    cls_[to] = cls_[at];
    if (t_.w) {
      weight_[to] = weight_[at];
      root_[to] = root_[at];
    }
  }
  s.count = rows;
  return lost;
}

void throw_infinite(const ClassTable& t, std::size_t begin, std::size_t end) {
  std::vector<double> x(t.x.d);
  const std::uint32_t self = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!t.counts(i)) continue;
    TB_CALL(gather_rows, t.x, i, &self, 1, x.data());
    for (std::size_t j = 0; j < t.x.d; ++j) {
      if (std::isinf(x[j])) throw BadValue{BadValue::infinite, i, j, x[j]};
    }
  }
  throw std::logic_error("an infinite value was seen but cannot be found");
}

void throw_overflow(const ClassTable& t, std::size_t j) {
  const Columns column{t.x.n, 1, t.x.col + j, false};
  const std::uint32_t self = 0;
  BadValue worst{BadValue::overflow, 0, j, 0.0};
  for (std::size_t i = 0; i < t.x.n; ++i) {
    double v;
    TB_CALL(gather_rows, column, i, &self, 1, &v);
    if (t.counts(i) && std::abs(v) > std::abs(worst.value)) {
      worst.row = i;
      worst.value = v;
    }
  }
  throw worst;
}

}  // namespace tb
