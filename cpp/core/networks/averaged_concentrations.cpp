// Back-off concentrations by leave-one-out: P_l is a function of counts, so a row is left out by taking 1 from each of
// them.
#include <algorithm>

#include "core/networks/averaged_cell.hpp"
#include "core/networks/concentrations.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kMostSets = 500;  // of parents that one child is asked about

// The set of number `at` in lexicographic order out of those of l columns without column k.
void find_set(std::size_t at, std::size_t d, std::size_t k, std::size_t l, std::int32_t* set) {
  std::size_t j = 0;  // of the d - 1 others
  for (std::size_t i = 0; i < l; ++i, ++j) {
    for (std::size_t with = choose(d - 2 - j, l - 1 - i); at >= with; with = choose(d - 2 - j, l - 1 - i)) {
      at -= with;
      ++j;
    }
    set[i] = static_cast<std::int32_t>(j < k ? j : j + 1);
  }
}

class Likelihood {
 public:
  Likelihood(const AveragedCounts& m, std::size_t k, Grid grid) : m_(m), k_(k), grid_(grid), search_(grid) {}

  // All cells of column k beside these parents.
  void add(std::int32_t* parent, std::size_t l) {
    m_.by_rank(parent, l);
    std::size_t cells = 1;
    for (std::size_t i = 0; i < l; ++i) {
      family_[i] = m_.family(parent, i + 1, k_);
      cells *= m_.size(static_cast<std::size_t>(parent[i]));
    }
    for (std::size_t c = 0; c < m_.classes; ++c) {
      for (std::size_t cell = 0; cell < cells; ++cell) {
        std::size_t value[kMostParents], rest = cell;
        for (std::size_t i = l; i-- > 0;) {
          const std::size_t size = m_.size(static_cast<std::size_t>(parent[i]));
          value[i] = rest % size;
          rest /= size;
        }
        add_cell(c, value, l);
      }
    }
  }

  double best() { return search_.best(grid_.concentrations[0]).concentration; }

 private:
  void add_cell(std::size_t c, const std::size_t* value, std::size_t l) {
    const std::size_t size = m_.size(k_);
    std::size_t base[kMostParents];
    double total[kMostParents];
    for (std::size_t i = l; i-- > 0;) {
      base[i] = c * m_.tables.cells() + family_[i].offset;
      for (std::size_t q = 0; q <= i; ++q) base[i] += value[q] * family_[i].step[q];
      total[i] = 0.0;
      for (std::size_t x = 0; x < size; ++x) total[i] += m_.count(base[i] + x * family_[i].stride);
      if (i == l - 1 && total[i] < 1.0) return;
    }
    const double* single = m_.single + c * m_.all_levels() + m_.first[k_];
    double all = 0.0;
    for (std::size_t x = 0; x < size; ++x) all += single[x];
    for (std::size_t x = 0; x < size; ++x) {
      const double n = m_.count(base[l - 1] + x * family_[l - 1].stride);
      if (!(n >= 1.0)) continue;
      double p = smoothed(less(single[x], 1.0), less(all, 1.0), m_.alpha, m_.levels[k_]);
      for (std::size_t i = 0; i + 1 < l; ++i) {
        const double here = less(m_.count(base[i] + x * family_[i].stride), 1.0);
        p = backed_off(here, less(total[i], 1.0), p, m_.concentration[i * m_.d() + k_]);
      }
      const double above = less(n, 1.0);
      if (above + p > 0.0) search_.add(n, above, less(total[l - 1], 1.0), p);  // otherwise no concentration can help
    }
  }

  const AveragedCounts& m_;
  std::size_t k_;
  Grid grid_;
  ConcentrationSearch search_;
  Family family_[kMostParents];  // beside the first, the first two, ... parents
};

}  // namespace

void averaged_concentrations(AveragedCounts m, Grid grid, double* out) {
  const std::size_t d = m.d();
  m.concentration = out;  // of the levels below the one in hand
  for (std::size_t l = 1; l <= m.order; ++l) {
    const std::size_t all = d > 0 ? choose(d - 1, l) : 0, some = std::min(all, kMostSets);
    parallel_for(d, [&](std::size_t k, int) {
      Likelihood likelihood(m, k, grid);
      std::int32_t set[kMostParents];
      for (std::size_t i = 0; i < some; ++i) {
        find_set(i * all / some, d, k, l, set);
        likelihood.add(set, l);
      }
      out[(l - 1) * d + k] = likelihood.best();
    });
  }
}

}  // namespace tb
