// Codes in rows counted two columns at a time: what the kernel needs to know, and what becomes of its counts.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/counts.hpp"
#include "kernels/pair_counts.hpp"

namespace tb {

class PairCounts {
 public:
  // Prepares for columns of so many levels. False: counters of pairs would be too many, or there are too few pairs.
  bool fit(const std::vector<std::size_t>& levels, std::size_t classes, std::size_t item_size) {
    pairs_ = levels.size() / 2;
    if (2 * pairs_ * item_size < shortest_pairs(item_size) || pairs_ > kMostPairs) return false;
    const std::size_t apart = pair_stride(item_size);
    step_ = pairs_ * apart;
    bits_.clear();
    for (std::size_t j = 0; j < 2 * pairs_; ++j) {
      bits_.push_back(static_cast<std::uint8_t>(std::bit_width(std::max<std::size_t>(levels[j], 1) - 1)));
    }
    std::size_t cells = 0;
    for (std::size_t p = 0; p < pairs_; ++p) {
      if (shift(p) > kMostBits || (cells += (classes + 1) << shift(p)) > kMostCells) return false;
    }
    base_.assign((classes + 1) * step_, 0);
    std::size_t place = 0;
    for (std::size_t c = 0; c <= classes; ++c) {  // one more for rows that do not count
      for (std::size_t p = 0; p < pairs_; ++p) {
        base_[c * step_ + p * apart] = static_cast<std::uint32_t>(place);
        place += std::size_t{1} << shift(p);
      }
    }
    table_.assign(place, 0);
    return true;
  }

  // How many rows were counted, from the first on: all, unless there is a code that has no place. first: the first
  // column, with as many beside it as there are pairs of.
  std::size_t count(const Codes& first) {
    return TB_CALL(count_pairs, PairRows{first.x, first.stride, first.dtype, first.n, pairs_, first.cls},
                   PairPlaces{bits_.data(), base_.data(), step_, table_.data()});
  }

  // add(class, column, code, rows) for what was counted, which is then forgotten.
  template <class Add>
  void take(Add&& add) {
    std::size_t place = 0;
    for (std::size_t c = 0; place < table_.size(); ++c) {
      for (std::size_t p = 0; p < pairs_; ++p) {
        for (std::size_t k = 0; k < std::size_t{1} << shift(p); ++k, ++place) {
          if (table_[place] == 0) continue;
          add(c, 2 * p, k & ((std::size_t{1} << bits_[2 * p]) - 1), table_[place]);
          add(c, 2 * p + 1, k >> bits_[2 * p], table_[place]);
        }
      }
    }
    std::fill(table_.begin(), table_.end(), 0);
  }

 private:
  static constexpr int kMostBits = 12;
  static constexpr std::size_t kMostCells = 1 << 15;  // 128 KB: beyond, counters are waited for

  int shift(std::size_t p) const { return bits_[2 * p] + bits_[2 * p + 1]; }

  std::size_t pairs_ = 0, step_ = 0;
  std::vector<std::uint8_t> bits_;
  std::vector<std::uint32_t> base_, table_;
};

}  // namespace tb
