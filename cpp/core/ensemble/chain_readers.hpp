// How the rows of a chain are read: codes through views into cells. Only for the files of back_off_chains.hpp.
#pragma once
#include <algorithm>
#include <vector>

#include "core/ensemble/back_off_chains.hpp"
#include "kernels/back_off_chains.hpp"

namespace tb {

constexpr std::size_t kSpan = 4096;         // rows at a time
constexpr std::size_t kMinTableRows = 256;  // rows for which a table of all codes of a byte does not pay

// cell = cell * bins + the bin of the code, for each row; kNoCell where a bin is missing, or was before. Returns
// whether any is.
template <class T>
bool step_cells(const Views& views, std::size_t v, const T* code, std::uint32_t* cell, std::size_t n) {
  const std::uint8_t* map = views.map + views.start[v];
  const std::size_t levels = views.levels(v);
  const auto bins = static_cast<std::uint32_t>(views.bins[v]);
  if constexpr (sizeof(T) == 1) {
    if (n < kMinTableRows) {
      bool none = false;
      for (std::size_t r = 0; r < n; ++r) {
        const std::uint32_t b = map[std::min<std::size_t>(code[r], levels)];
        const bool gone = b == kNoBin || cell[r] == kNoCell;
        none |= gone;
        cell[r] = gone ? kNoCell : cell[r] * bins + b;
      }
      return none;
    }
    std::uint8_t lut[256];
    for (std::size_t i = 0; i < 256; ++i) lut[i] = map[std::min(i, levels)];
    return TB_CALL(step_cells8, code, lut, bins, cell, n);
  } else if constexpr (sizeof(T) == 2) {
    return TB_CALL(step_cells16, code, map, levels, bins, cell, n);
  } else {
    return TB_CALL(step_cells32, code, map, levels, bins, cell, n);
  }
}

// The views of a chain: its parents, and last its child if it has one.
class ChainViews {
 public:
  ChainViews(const Chains& chains, std::size_t i)
      : views_(chains.views),
        parent_(chains.parent + chains.parent_start[i]),
        child_(chains.child[i]),
        parents_(chains.parents(i)) {}

  std::size_t count() const { return parents_ + (child_ >= 0); }
  std::size_t column(std::size_t which) const { return static_cast<std::size_t>(views_.column[view(which)]); }
  std::uint32_t bins(std::size_t which) const { return static_cast<std::uint32_t>(views_.bins[view(which)]); }

  // Rows [first, first + rows) of packed codes, n of each column.
  template <class T>
  bool step(std::size_t which, const T* codes, std::size_t n, std::size_t first, std::uint32_t* cell,
            std::size_t rows) const {
    return step_cells(views_, view(which), codes + column(which) * n + first, cell, rows);
  }

 private:
  std::size_t view(std::size_t which) const {
    return static_cast<std::size_t>(which < parents_ ? parent_[which] : child_);
  }

  const Views& views_;
  const std::int32_t* parent_;
  std::int32_t child_;
  std::size_t parents_;
};

}  // namespace tb
