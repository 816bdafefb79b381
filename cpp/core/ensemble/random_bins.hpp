// Coarse bins of columns that are counted by fine levels already: every member of an ensemble sees other ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tb {

constexpr std::size_t kMostBins = 64;

struct BinDraw {
  std::size_t classes, columns;
  const double* count;          // (classes, levels of all columns): weights
  const std::int64_t* size;     // columns: how many levels
  const std::uint8_t* ordered;  // columns: levels are intervals in their order
  std::size_t members;
  std::size_t low, high;     // how many bins are aimed at: q is from low .. high
  double mdl_share;          // of how many members an ordered column is cut by class entropy
  const std::int32_t* turn;  // (members, columns): which of the column's turns each member has, 0 .. members − 1
  std::uint64_t seed;
};

// map (members, levels of all columns): the bin of each level; bins (members, columns): how many.
// Ordered columns: in a share of the turns the bins of mdl_bins on a random half of the weight, at most 5 cuts deep, if
// there are any; else bins of equal weight with a phase, where a level with 1/q of the weight or more is by itself
// (with at most q levels that are not empty: each of them). The q and phases of the first turns, however many, are
// spread evenly: less of an average over members is chance. Empty levels join their left neighbour. Other columns: at
// most clip(2 q, 8, 24) bins; if there are more levels the rarest share the last. Empty levels are there.
void draw_bins(const BinDraw& draw, std::uint8_t* map, std::int32_t* bins);

// Fayyad and Irani's cuts (1993) of one column, at most `depth` after one another: map (levels) as above, returns how
// many bins. count: (classes, levels), classes `stride` apart.
std::size_t mdl_bins(const double* count, std::size_t stride, std::size_t classes, std::size_t levels,
                     std::size_t depth, std::uint8_t* map);

}  // namespace tb
