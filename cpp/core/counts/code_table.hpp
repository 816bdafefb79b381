// The table of one column's counts while it is being filled: a row of places for each class (and one for rows
// that do not count), see kernels/counts.hpp. N: uint32 for counts, double for weights.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/counts.hpp"

namespace tb {

template <class N>
class CodeTable {
 public:
  CodeTable(std::size_t classes, std::uint64_t most_place) : rows_(classes + 1) {
    while (!holds(most_place)) ++shift_;
    fit();
  }

  bool holds(std::uint64_t place) const { return place >> shift_ == 0; }
  std::size_t cells() const { return table_.size(); }
  Places<N> places() { return {table_.data(), shift_, copy_}; }
  void add(std::size_t cls, std::uint64_t place, N n) { table_[(cls << shift_) + place] += n; }

  void grow(std::uint64_t most_place) {
    const CodeTable old = *this;
    while (!holds(most_place)) ++shift_;
    fit();
    for (std::size_t i = 0; i < old.table_.size(); ++i) {
      const std::size_t row = i >> old.shift_, place = i - (row << old.shift_);
      add(row % rows_, place, old.table_[i]);
    }
  }

  // Levels with a count that is not zero in some class: the largest, plus 1.
  std::size_t levels() const {
    std::size_t most = 0;
    each([&](std::size_t, std::size_t level, N) { most = std::max(most, level + 1); });
    return most;
  }
  // Whether some row, of those that do not count too, was missing or beyond this place.
  bool any_outside(std::uint64_t most_place) const {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const std::size_t place = i & ((std::size_t{1} << shift_) - 1);
      if (table_[i] != N{} && (place == 0 || place > most_place)) return true;
    }
    return false;
  }
  // out: (classes, size)
  void add_to(double* out, std::size_t size) const {
    each([&](std::size_t c, std::size_t level, N n) { out[c * size + level] += static_cast<double>(n); });
  }

 private:
  static constexpr std::size_t kCopied = 1024;  // a table up to this many places is kept four times

  void fit() {
    const std::size_t one = rows_ << shift_;
    copy_ = one <= kCopied ? one : 0;
    table_.assign(copy_ ? 4 * one : one, N{});
  }
  template <class F>
  void each(F&& f) const {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const std::size_t row = i >> shift_, place = i - (row << shift_);
      const std::size_t c = row % rows_;
      if (table_[i] != N{} && place > 0 && c + 1 < rows_) f(c, place - 1, table_[i]);
    }
  }

  std::size_t rows_;
  int shift_ = 0;
  std::size_t copy_ = 0;
  std::vector<N> table_;
};

}  // namespace tb
