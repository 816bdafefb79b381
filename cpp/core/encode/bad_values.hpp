// Where is the value that a table may not hold? Slow and plain: runs only when there is one.
#pragma once
#include <algorithm>
#include <mutex>
#include <optional>

#include "core/counts/class_rows.hpp"

namespace tb {

double value_at(const Column& c, std::size_t row);
double value_at(const RowList& b, std::size_t k, std::size_t column);

// The first value (by row, then column) of the rows that count, for which bad(value) gives a kind: of the rows of
// a chunk, or of the whole table if its chunks do not follow the rows.
template <class F>
std::optional<BadValue> find_bad(const Plan& plan, std::size_t chunk, F&& bad) {
  const Labelled& t = plan.t;
  const std::size_t begin = plan.by_class ? 0 : chunk * plan.chunk_rows;
  const std::size_t end = plan.by_class ? t.x.n : std::min(t.x.n, begin + plan.chunk_rows);
  for (std::size_t i = begin; i < end; ++i) {
    if (t.y[i] < 0 || (t.w && t.w[i] == 0.0)) continue;
    for (std::size_t j = 0; j < t.x.d; ++j) {
      const double v = value_at(t.x.col[j], i);
      const std::optional<BadValue::Kind> kind = bad(v);
      if (kind) return BadValue{*kind, i, j, v};
    }
  }
  return std::nullopt;
}

// Keeps the first of the bad values that threads come upon: by row, then column.
class FirstBadValue {
 public:
  void offer(const BadValue& b) {
    const std::lock_guard lock(mutex_);
    if (!bad_ || b.row < bad_->row || (b.row == bad_->row && b.col < bad_->col)) bad_ = b;
  }
  void rethrow() const {
    if (bad_) throw *bad_;
  }

 private:
  std::mutex mutex_;
  std::optional<BadValue> bad_;
};

// BadValue overflow with the largest finite |x| of column j.
BadValue overflow(const Labelled& t, std::size_t j);

}  // namespace tb
