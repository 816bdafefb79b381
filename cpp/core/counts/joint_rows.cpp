#include <algorithm>

#include "core/counts/joint_counters.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/cells.hpp"

namespace tb {
namespace {

constexpr std::size_t kTileRows = 1 << 11;
constexpr std::size_t kPrivateCells = 1 << 14;  // of a thread's own table
constexpr std::size_t kSerialWork = 1 << 14;    // rows times tables not worth a team of threads
constexpr std::uint32_t kNone = ~std::uint32_t{0};

// One table after another, all rows of it.
template <class N>
class RowCounter {
 public:
  RowCounter(const LabelledCodes& rows, const Tables& tables, N* out)
      : rows_(rows), tables_(tables), out_(out), cell_(std::min(kTileRows, rows.x.n)) {}

  void add(std::size_t t) {
    const std::size_t cells = tables_.offset[t + 1] - tables_.offset[t];
    const bool small = cells <= kPrivateCells / rows_.classes && cells * rows_.classes <= rows_.x.n;
    if (!small)
      add_directly(t);
    else if (rows_.w)
      weigh_apart(t, cells);
    else
      count_apart(t, cells);
  }

 private:
  // f(begin, rows) for every tile, with cell_ filled; the class is the highest digit if `classes`.
  template <class F>
  void each_tile(std::size_t t, bool classes, std::uint32_t none, F&& f) {
    const CodeColumns from{rows_.x.code, rows_.x.bytes, rows_.x.n, tables_.columns(t), tables_.order(t), tables_.size};
    for (std::size_t begin = 0; begin < rows_.x.n; begin += kTileRows) {
      const std::size_t count = std::min(kTileRows, rows_.x.n - begin);
      TB_CALL(cell_numbers, from, begin, count, classes ? rows_.y : nullptr, none, cell_.data());
      f(begin, count);
    }
  }

  N* at(std::size_t c, std::size_t t) const { return out_ + c * tables_.cells() + tables_.offset[t]; }

  void add_directly(std::size_t t) {
    each_tile(t, false, kNone, [&](std::size_t begin, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t y = rows_.y[begin + i];
        if (y < 0 || cell_[i] == kNone) continue;
        at(static_cast<std::size_t>(y), t)[cell_[i]] += rows_.w ? static_cast<N>(rows_.w[begin + i]) : N{1};
      }
    });
  }

  // In a table of the thread's own, whose last cell takes the rows that are in none. The table begins as what is in
  // `out`, so that a cell's weights are added in the order of the rows.
  void weigh_apart(std::size_t t, std::size_t cells) {
    const std::size_t all = rows_.classes * cells;
    weight_.resize(all + 1);
    for (std::size_t c = 0; c < rows_.classes; ++c) std::copy_n(at(c, t), cells, weight_.data() + c * cells);
    each_tile(t, true, static_cast<std::uint32_t>(all), [&](std::size_t begin, std::size_t count) {
      double* const weight = weight_.data();
      for (std::size_t i = 0; i < count; ++i) weight[cell_[i]] += rows_.w[begin + i];
    });
    for (std::size_t c = 0; c < rows_.classes; ++c) std::copy_n(weight_.data() + c * cells, cells, at(c, t));
  }

  // The same in two copies, for even and odd rows: equal cells in successive rows do not wait for each other.
  void count_apart(std::size_t t, std::size_t cells) {
    const std::size_t all = rows_.classes * cells;
    count_.assign(2 * (all + 1), 0);
    std::uint32_t* const even = count_.data();
    std::uint32_t* const odd = even + all + 1;
    each_tile(t, true, static_cast<std::uint32_t>(all), [&](std::size_t, std::size_t count) {
      const std::uint32_t* const cell = cell_.data();
      std::size_t i = 0;
      for (; i + 2 <= count; i += 2) {
        ++even[cell[i]];
        ++odd[cell[i + 1]];
      }
      if (i < count) ++even[cell[i]];
    });
    for (std::size_t c = 0; c < rows_.classes; ++c) {
      N* const out = at(c, t);
      for (std::size_t k = 0; k < cells; ++k) out[k] += static_cast<N>(even[c * cells + k] + odd[c * cells + k]);
    }
  }

  const LabelledCodes& rows_;
  const Tables& tables_;
  N* out_;
  std::vector<std::uint32_t> cell_;
  std::vector<std::uint32_t> count_;
  std::vector<double> weight_;
};

template <class N>
void count(const LabelledCodes& rows, const Tables& tables, const TableList& list, N* out) {
  if (rows.x.n == 0 || list.empty()) return;
  const std::size_t per_block = std::max<std::size_t>(1, kSerialWork / rows.x.n);
  const std::size_t blocks = (list.size() + per_block - 1) / per_block;
  parallel_for(blocks, [&](std::size_t block, int) {
    RowCounter<N> counter(rows, tables, out);
    const std::size_t end = std::min(list.size(), (block + 1) * per_block);
    for (std::size_t k = block * per_block; k < end; ++k) counter.add(list[k]);
  });
}

}  // namespace

void count_by_rows(const LabelledCodes& rows, const Tables& tables, const TableList& list, std::uint32_t* out) {
  count(rows, tables, list, out);
}
void count_by_rows(const LabelledCodes& rows, const Tables& tables, const TableList& list, double* out) {
  count(rows, tables, list, out);
}

}  // namespace tb
