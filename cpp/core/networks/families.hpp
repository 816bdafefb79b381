// A network's factors P(child | class, parents): which tables they are read from, and their probabilities.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/networks/back_off.hpp"
#include "core/counts/joint_tables.hpp"

namespace tb {

// What has been counted. single: (classes, sum of sizes), the levels of each column; joint: (classes, cells of the
// tables), one of the two pointers.
struct Counts {
  std::size_t classes;
  const double* single;
  const std::uint32_t* whole;
  const double* weighed;
  std::size_t cells;

  double joint(std::size_t c, std::size_t cell) const {
    return whole ? static_cast<double>(whole[c * cells + cell]) : weighed[c * cells + cell];
  }
};

// Children with their parents in the order in which they are backed off from: the last parent goes first.
// table[parent_start[f] + l]: the table of {child, parents 0 … l} of family f.
struct Families {
  std::size_t count;
  const std::int32_t* child;
  const std::int32_t* parent;
  const std::int64_t* parent_start;
  const std::int64_t* table;
  const std::int32_t* group;  // (families, classes): classes of one group share their counts; null: each its own

  std::size_t parents(std::size_t f) const { return static_cast<std::size_t>(parent_start[f + 1] - parent_start[f]); }
};

// How counts become probabilities.
struct Smoothing {
  double alpha;
  const double* levels;  // how many levels of each column share its probability
};

// P(x | class, parents 0 … l − 1) of one family for one l: cells [parent 0] … [parent l − 1][x], the classes of a
// cell side by side. total: the weight of each parents' cell.
struct Level {
  std::size_t cells = 1;  // of the parents
  std::vector<double> p;
  std::vector<double> n;
  std::vector<double> total;
};

// Reads the counts of family f for l parents into n and total.
Level read_level(const Counts& counts, const Tables& tables, const Families& families, std::size_t f, std::size_t l);

// (n + alpha) / (total + alpha N);  1 / N where nothing is counted and nothing added.
void laplace(Level& level, std::size_t classes, std::size_t size, double alpha, double levels);
// (n + a P(x | one parent less)) / (total + a)
void back_off(Level& level, const Level& below, std::size_t classes, std::size_t size, double a);

// The levels 0 … k of a family. concentration: one for each parent, or null for Laplace at every level.
std::vector<Level> family_levels(const Counts& counts, const Tables& tables, const Families& families, std::size_t f,
                                 const Smoothing& smoothing, const double* concentration);

// The concentration out of the grid for each family and parent, with the largest leave-one-out log-likelihood of the
// counted cells: a unit is taken out of each cell of a row, at every level at once. out: as long as `parent`.
void family_concentrations(const Counts& counts, const Tables& tables, const Families& families,
                           const Smoothing& smoothing, Grid grid, double* out);

// log P of the full families, one after another: (cells, classes). offset: where each begins, in cells.
void family_logs(const Counts& counts, const Tables& tables, const Families& families, const Smoothing& smoothing,
                 const double* concentration, const std::size_t* offset, double* out);
// log P(row | class) of a row without missing values, the same bits as by family_logs: only the cells of the row are
// read. code: of each column.
void family_row(const Counts& counts, const Tables& tables, const Families& families, const Smoothing& smoothing,
                const double* concentration, const std::int64_t* code, double* out);
std::vector<std::size_t> family_offsets(const Tables& tables, const Families& families);

}  // namespace tb
