// Where is the value that a table may not hold? Slow and plain: runs only when there is one.
#pragma once
#include <optional>

#include "core/class_rows.hpp"

namespace tb {

double value_at(const Column& c, std::size_t row);

// The first value (by row, then column) of rows [begin, end) that count, for which bad(value) gives a kind.
template <class F>
std::optional<BadValue> find_bad(const Labelled& t, std::size_t begin, std::size_t end, F&& bad) {
  for (std::size_t i = begin; i < end && i < t.x.n; ++i) {
    if (t.y[i] < 0 || (t.w && t.w[i] == 0.0)) continue;
    for (std::size_t j = 0; j < t.x.d; ++j) {
      const double v = value_at(t.x.col[j], i);
      const std::optional<BadValue::Kind> kind = bad(v);
      if (kind) return BadValue{*kind, i, j, v};
    }
  }
  return std::nullopt;
}

// BadValue overflow with the largest finite |x| of column j.
BadValue overflow(const Labelled& t, std::size_t j);

}  // namespace tb
