// The columns among which a tree looks for a cut, several side by side (kernels/boosting_cuts.hpp).
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/ensemble/bins.hpp"
#include "core/ensemble/boosting.hpp"
#include "kernels/boosting_cuts.hpp"

namespace tb {

// near: what `at` is among the bins that are looked at.
struct Cut {
  std::int32_t column = -1, at = -1, near = -1;
  float score = 0;
};

// The bins of searched rows in one column, each times `times`.
template <class T>
struct NearBins {
  const T* bin;
  std::size_t stride, times;
  std::size_t none;  // what takes no part
};

class InterleavedBlocks {
 public:
  // bin: (columns, n); of these, `columns` are looked at, in rows `some`.
  void read(const BoostingData& p, std::size_t gradients, const std::uint8_t* bin, std::size_t n,
            const std::uint32_t* column, std::size_t columns, const std::vector<std::uint32_t>& some) {
    const std::size_t m = some.size();
    column_ = column;
    gradients_ = gradients;
    slots_ = paired_slots(gradients);
    at_.assign(columns, {});
    order_.clear();
    for (std::size_t k = 0; k < columns; ++k) {
      const auto bins = static_cast<std::size_t>(p.bins[column[k]]);
      if (bins < 2) continue;
      order_.push_back(static_cast<std::uint32_t>(k));
      Place& to = at_[k];
      to.bins = bins;
      to.cuts = p.ordered[column[k]] ? bins - 1 : bins;
      to.before = p.ordered[column[k]] ? 1.0f : 0.0f;
      to.few = p.ordered[column[k]] && bins > kMinSkippedBins && m < 2 * bins;
      if (to.few) find_used(bin + column[k] * n, some, to);
    }
    // Those of about as many bins are side by side: all are looked at as if they had as many as the first.
    std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return at_[a].bins > at_[b].bins; });
    blocks_.clear();
    std::size_t room = 0;
    for (std::size_t first = 0; first < order_.size();) {
      const std::size_t left = order_.size() - first, side = paired_side(slots_, left), wide = side / slots_,
                        count = std::min(wide, left);
      blocks_.push_back({first, count, side, at_[order_[first]].bins, room});
      room += wide * m;
      first += count;
    }
    if (near_.size() < room) near_.resize(room);
    for (const Block& block : blocks_) {
      const std::size_t wide = block.side / slots_;
      for (std::size_t j = 0; j < block.columns; ++j) {
        Place& of = at_[order_[block.first + j]];
        const std::uint8_t* from = bin + column[order_[block.first + j]] * n;
        std::uint16_t* to = near_.data() + block.near + j;
        of.near = {to, wide, paired_place(1, block.side), paired_place(block.bins, block.side)};
        of.among[kNoBin] = static_cast<std::uint8_t>(block.bins);
        const std::uint32_t* row = some.data();
        if (of.few) {
          for (std::size_t q = 0; q < m; ++q) to[q * wide] = paired_place(of.among[from[row[q]]], block.side);
        } else {
          for (std::size_t q = 0; q < m; ++q)
            to[q * wide] = paired_place(std::min<std::size_t>(from[row[q]], block.bins), block.side);
        }
      }
    }
  }

  std::size_t blocks() const { return blocks_.size(); }
  const NearBins<std::uint16_t>& near(std::size_t k) const { return at_[k].near; }

  // The best cut of each column of a block.
  void find_cuts(std::size_t which, const TreeCells& cells, Aligned<float>& space, Cut* best) const {
    const Block& block = blocks_[which];
    const std::size_t sums = paired_sums(block.bins, block.side), scores = paired_scores(block.bins, block.side);
    space.at_least(sums + scores);
    float before[2 * kPairedColumns] = {};
    std::int32_t cuts[kPairedColumns] = {};
    for (std::size_t j = 0; j < block.columns; ++j) {
      const Place& of = at_[order_[block.first + j]];
      std::fill_n(before + j * slots_, slots_, of.before);
      cuts[j] = static_cast<std::int32_t>(of.cuts);
    }
    PairedColumns task{block.columns, slots_, gradients_,   block.side,          block.bins, near_.data() + block.near,
                       before,        cuts,   space.data(), space.data() + sums, {},         {}};
    TB_CALL(paired_cuts, cells, task);
    for (std::size_t j = 0; j < block.columns; ++j) {
      const std::uint32_t k = order_[block.first + j];
      const std::int32_t near = task.at[j];
      if (near < 0) continue;
      const std::int32_t at = at_[k].few ? at_[k].bin[static_cast<std::size_t>(near)] : near;
      best[k] = {static_cast<std::int32_t>(column_[k]), at, near, task.best[j]};
    }
  }

 private:
  static constexpr std::size_t kMinSkippedBins = 16;  // bins that are not worth to be left out

  struct Place {
    std::size_t bins = 0, cuts = 0;
    float before = 0;
    bool few = false;                          // only the bins that have rows are looked at
    std::array<std::uint8_t, 256> among, bin;  // … which they are: there and back
    NearBins<std::uint16_t> near{};
  };
  struct Block {
    std::size_t first, columns, side, bins, near;
  };

  // Few rows leave most bins of a number empty. A cut behind one is that before it, which comes first; but the first
  // bin of all has none before it.
  static void find_used(const std::uint8_t* bin, const std::vector<std::uint32_t>& some, Place& to) {
    std::array<bool, 256> used{};
    used[0] = true;
    for (const std::uint32_t row : some) used[bin[row]] = true;
    std::size_t count = 0;
    for (std::size_t b = 0; b < to.bins; ++b) {
      to.among[b] = static_cast<std::uint8_t>(count);
      to.bin[count] = static_cast<std::uint8_t>(b);
      count += used[b];
    }
    to.cuts = count - used[to.bins - 1];
    to.bins = count;
  }

  const std::uint32_t* column_ = nullptr;
  std::size_t gradients_ = 1, slots_ = 1;
  std::vector<Place> at_;             // of each column
  std::vector<std::uint32_t> order_;  // of the columns in the blocks
  std::vector<Block> blocks_;
  std::vector<std::uint16_t> near_;
};

}  // namespace tb
