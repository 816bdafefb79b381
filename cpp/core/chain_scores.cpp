#include "core/chain_readers.hpp"
#include "core/threads.hpp"

namespace tb {
namespace {

// The cells of some rows in the estimates of one chain. Where a parent is missing, the rung before it stands in.
template <class T>
struct Cells {
  const Readers<T>& read;
  std::size_t parents, bins;
  std::vector<std::uint32_t> cell, child, last, old;

  Cells(const Chains& chains, std::size_t i, const Readers<T>& reader, const T* codes, std::size_t n, std::size_t first,
        std::size_t rows)
      : read(reader),
        parents(chains.parents(i)),
        bins(chains.bins(i)),
        cell(rows),
        child(rows, 0),
        last(rows, kNoCell) {
    if (chains.child[i] >= 0) read.step(parents, codes, n, first, child.data(), rows);
  }
  // each(l): cell holds where the rows are in rung l
  template <class Each>
  void climb(const T* codes, std::size_t n, std::size_t first, Each&& each) {
    std::size_t passed = 0, contexts = 1;
    std::vector<std::uint32_t> context(cell.size(), 0);
    for (std::size_t l = 0; l <= parents; ++l) {
      if (l > 0) {
        old = context;
        if (read.step(l - 1, codes, n, first, context.data(), cell.size())) {
          for (std::size_t r = 0; r < cell.size(); ++r) {
            if (context[r] == kNoCell && old[r] != kNoCell)
              last[r] = static_cast<std::uint32_t>(passed + old[r] * bins);
          }
        }
        passed += contexts * bins;
        contexts *= read.bins[l - 1];
      }
      if (!each.wants(l, parents)) continue;
      for (std::size_t r = 0; r < cell.size(); ++r) {
        const std::uint32_t at =
            context[r] == kNoCell ? last[r] : static_cast<std::uint32_t>(passed + context[r] * bins);
        cell[r] = child[r] == kNoCell ? kNoCell : at + child[r];
      }
      each(l);
    }
  }
};

}  // namespace

template <class T, class Log>
void add_chains(const Chains& chains, const Log* logs, std::size_t classes, const T* codes, std::size_t n,
                const Planes& planes, double* out) {
  std::vector<Readers<T>> readers;
  for (std::size_t i = 0; i < chains.count; ++i) readers.emplace_back(chains, i);
  parallel_for((n + kSpan - 1) / kSpan, [&](std::size_t block, int) {
    const std::size_t first = block * kSpan, some = std::min(kSpan, n - first);
    for (std::size_t i = 0; i < chains.count; ++i) {
      Cells<T> cells(chains, i, readers[i], codes, n, first, some);
      const auto add = [&](std::size_t plane, double scale) {
        const Log* from = logs + chains.rungs[i] * classes;
        double* to = out + (plane * n + first) * classes;
        if constexpr (sizeof(Log) == 4) {
          TB_CALL(add_cells, from, cells.cell.data(), some, classes, scale, to);
        } else {
          for (std::size_t r = 0; r < some; ++r) {
            for (std::size_t c = 0; c < classes && cells.cell[r] != kNoCell; ++c)
              to[r * classes + c] += scale * from[cells.cell[r] * classes + c];
          }
        }
      };
      struct Whole {
        decltype(add)& to;
        std::size_t plane;
        double scale;
        static bool wants(std::size_t l, std::size_t k) { return l == k; }
        void operator()(std::size_t) const { to(plane, scale); }
      };
      struct Steps {  // log P_l − log P_{l−1}
        decltype(add)& to;
        const std::size_t* column;
        std::size_t parents, rest;
        double scale;
        static bool wants(std::size_t, std::size_t) { return true; }
        void operator()(std::size_t l) const {
          to(l == 0 ? rest : column[l - 1], scale);
          if (l < parents) to(column[l], -scale);
        }
      };
      if (planes.of[i] >= 0)
        cells.climb(codes, n, first, Whole{add, static_cast<std::size_t>(planes.of[i]), planes.scale[i]});
      else
        cells.climb(codes, n, first,
                    Steps{add, readers[i].column.data(), cells.parents, planes.count - 1, planes.scale[i]});
    }
  });
}

#define TB_CHAINS(T)                                                                                                 \
  template void add_chains(const Chains&, const float*, std::size_t, const T*, std::size_t, const Planes&, double*); \
  template void add_chains(const Chains&, const double*, std::size_t, const T*, std::size_t, const Planes&, double*);
TB_CHAINS(std::uint8_t)
TB_CHAINS(std::uint16_t)
TB_CHAINS(std::uint32_t)
#undef TB_CHAINS

}  // namespace tb
