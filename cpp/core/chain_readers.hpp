// How the rows of a chain are read: codes through views into cells. Only for the files of chains.hpp.
#pragma once
#include <algorithm>
#include <vector>

#include "core/chains.hpp"
#include "kernels/chains.hpp"

namespace tb {

constexpr std::size_t kSpan = 4096;  // rows at a time

// A view of codes of type T: what a code becomes.
template <class T>
class Reader {
 public:
  Reader(const Views& views, std::size_t v) : map_(views.map + views.start[v]), levels_(views.levels(v)) {
    if constexpr (sizeof(T) == 1) {
      for (std::size_t i = 0; i < 256; ++i) lut_[i] = map_[std::min(i, levels_)];
    }
  }
  bool step(const T* code, std::uint32_t bins, std::uint32_t* cell, std::size_t n) const {
    if constexpr (sizeof(T) == 1)
      return TB_CALL(step_cells8, code, lut_, bins, cell, n);
    else if constexpr (sizeof(T) == 2)
      return TB_CALL(step_cells16, code, map_, levels_, bins, cell, n);
    else
      return TB_CALL(step_cells32, code, map_, levels_, bins, cell, n);
  }

 private:
  const std::uint8_t* map_;
  std::size_t levels_;
  std::uint8_t lut_[sizeof(T) == 1 ? 256 : 1];
};

// The readers of a chain: its parents, and last its child if it has one.
template <class T>
struct Readers {
  std::vector<Reader<T>> reader;
  std::vector<std::size_t> column;
  std::vector<std::uint32_t> bins;

  Readers(const Chains& chains, std::size_t i) {
    for (std::int64_t p = chains.parent_start[i]; p < chains.parent_start[i + 1]; ++p)
      add(chains.views, chains.parent[p]);
    if (chains.child[i] >= 0) add(chains.views, chains.child[i]);
  }
  bool step(std::size_t which, const T* codes, std::size_t n, std::size_t first, std::uint32_t* cell,
            std::size_t rows) const {
    return reader[which].step(codes + column[which] * n + first, bins[which], cell, rows);
  }

 private:
  void add(const Views& views, std::int32_t view) {
    const auto v = static_cast<std::size_t>(view);
    reader.emplace_back(views, v);
    column.push_back(static_cast<std::size_t>(views.column[v]));
    bins.push_back(static_cast<std::uint32_t>(views.bins[v]));
  }
};

}  // namespace tb
