#include <algorithm>
#include <vector>

#include "core/counts/joint.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSerialCells = 1 << 15;  // cells not worth a team of threads

// Where the cells of a table go, one run of its last column after another.
class Route {
 public:
  Route(const Tables& from, const Tables& to, const std::int64_t* const* map, std::size_t t)
      : columns_(from.columns(t)),
        order_(from.order(t)),
        map_(map),
        size_(from.size),
        step_(order_, 1),
        level_(order_, 0) {
    for (std::size_t k = order_; k-- > 1;) step_[k - 1] = step_[k] * static_cast<std::size_t>(to.size[columns_[k]]);
  }

  template <class N>
  void move(const N* from, N* to) {
    if (order_ == 0) {
      *to += *from;
      return;
    }
    const std::int32_t last = columns_[order_ - 1];
    std::size_t at = 0;
    for (std::size_t k = 0; k + 1 < order_; ++k) at += place(k);
    do {
      for (std::int64_t v = 0; v < size_[last]; ++v)
        to[at + static_cast<std::size_t>(map_[last] ? map_[last][v] : v)] += *from++;
    } while (next(at));
  }

 private:
  std::size_t place(std::size_t k) const {
    const std::int64_t* map = map_[columns_[k]];
    return static_cast<std::size_t>(map ? map[level_[k]] : level_[k]) * step_[k];
  }

  // The next combination of all columns but the last; false after the last one, which leads back to the first.
  bool next(std::size_t& at) {
    for (std::size_t k = order_ - 1; k-- > 0;) {
      at -= place(k);
      const bool carry = ++level_[k] == size_[columns_[k]];
      if (carry) level_[k] = 0;
      at += place(k);
      if (!carry) return true;
    }
    return false;
  }

  const std::int32_t* columns_;
  std::size_t order_;
  const std::int64_t* const* map_;
  const std::int64_t* size_;
  std::vector<std::size_t> step_;  // cells from one level of a column to the next
  std::vector<std::int64_t> level_;
};

template <class N>
void move(const Tables& from, const Tables& to, const std::int64_t* const* map, std::size_t classes, const N* counts,
          N* out) {
  const std::size_t old_cells = from.cells(), new_cells = to.cells();
  const std::size_t per_block =
      std::max<std::size_t>(1, kSerialCells * to.count / std::max<std::size_t>(1, new_cells * classes));
  const std::size_t blocks = (to.count + per_block - 1) / per_block;
  parallel_for(blocks, [&](std::size_t block, int) {
    for (std::size_t t = block * per_block; t < std::min(to.count, (block + 1) * per_block); ++t) {
      Route route(from, to, map, t);
      for (std::size_t c = 0; c < classes; ++c) {
        N* const cells = out + c * new_cells + to.offset[t];
        std::fill_n(cells, to.offset[t + 1] - to.offset[t], N{});
        if (from.offset[t] < from.offset[t + 1]) route.move(counts + c * old_cells + from.offset[t], cells);
      }
    }
  });
}

}  // namespace

void move_tables(const Tables& from, const Tables& to, const std::int64_t* const* map, std::size_t classes,
                 const std::uint32_t* counts, std::uint32_t* out) {
  move(from, to, map, classes, counts, out);
}
void move_tables(const Tables& from, const Tables& to, const std::int64_t* const* map, std::size_t classes,
                 const double* counts, double* out) {
  move(from, to, map, classes, counts, out);
}

}  // namespace tb
