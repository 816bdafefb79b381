// The log of a kernel density, log f(x) with f(x) = sum_i w_i phi((x - v_i) / h) / (h sum_i w_i), quickly and
// everywhere to about 1e-9 relative in f.
//
// Around a centre c, with t = (x - c) / h and u_i = (v_i - c) / h, the sum factors exactly:
//     f(x) = f(c) exp(a t - t^2 / 2) Q(t),    Q(t) = sum_i p_i exp((u_i - a) t),
// p_i the share of value i in f(c) and a the mean of the u_i over these shares. The Taylor coefficients of Q are
// central moments of the shares divided by k!, and Q(t) >= 1 (Jensen). So what a polynomial of degree 14 leaves
// out is a relative error of f, and its bound, sum_i p_i |(u_i - a) t|^15 / 15! exp(|u_i - a| |t|), is computed
// along with the coefficients. The line is halved until each cell either meets the bound or has few values that
// matter. A cell is about as wide as h amid the data and wider the farther out, where the shares concentrate on
// few values; so an outlier costs a few cells more, not a grid. With few values that matter (in particular for
// entries of few values, and beyond the outermost cell) the sum is taken directly, over those alone.
//
// Why not the fast Gauss transform or a grid of log f: both lose the relative accuracy in the tails and between
// clusters, where log f is large and bends at the scale h^2 / distance.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/density/kernel_statistics.hpp"
#include "core/scoring/part.hpp"
#include "kernels/kernel_density.hpp"

namespace tb {

constexpr std::size_t kEntry = 3;        // doubles per entry: h, log(1 / (W h sqrt(2 pi))), reach (see Bumps)
constexpr double kNarrowest = 4.5e-308;  // 2 / h must be a number

// The cells of one entry. The centre is NaN where the sum is taken directly; no cells: everywhere.
struct KernelCells {
  std::vector<double> edge;  // left edge of each cell, the first at -infinity
  std::vector<double> cell;  // cells x kCell
};

struct KernelTables {
  std::vector<double> entry;             // entries x kEntry
  std::vector<std::int64_t> cell_start;  // entries + 1; no cells: direct sums
  std::vector<double> edge;              // left edge of each cell, the first of an entry at -infinity
  std::vector<double> cell;              // cells x kCell; the centre is NaN where the sum is taken directly
};

struct TablesView {
  const double* entry;
  const std::int64_t* cell_start;
  const double* edge;
  const double* cell;
};

// h[c * d + j] >= kNarrowest for every entry (j, c) that has values. Without cells the tables are ready at once and
// right, but slow: for a handful of rows after each example.
KernelTables kernel_tables(const KernelView& statistics, const double* h, std::size_t K, bool cells);

// The same of one entry: its kEntry numbers, and its cells.
void kernel_entry(const Multiset& values, double h, double* entry);
KernelCells kernel_cells(const Multiset& values, const double* entry);

// The cell that x lies in, without the others; false: the sum is taken directly there. It is that of kernel_cells as
// long as these are not more than there are values.
bool kernel_cell(const Multiset& values, const double* entry, double x, double* cell);

// Adds log f of each column to each class; a missing x, or an entry without values, adds nothing.
class KernelPart final : public Part {
 public:
  KernelPart(const Columns& x, const KernelView& statistics, const TablesView& tables, std::size_t K);
  void add(std::size_t r0, std::size_t rows, double* acc) const override;  // throws BadValue (infinite)
  std::size_t cells_per_row() const override { return x_.d * K_; }
  // One row with the range of long double: a log density of about -1e308 or less is a number here.
  bool can_overflow() const override { return true; }
  void add_wide(std::size_t row, std::size_t classes, long double* acc) const override;

 private:
  void add_entry(std::size_t e, const double* x, std::size_t rows, double* acc) const;
  Columns x_;
  KernelView statistics_;
  TablesView tables_;
  std::size_t K_;
};

}  // namespace tb
