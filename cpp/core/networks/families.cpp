#include "core/networks/families.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/networks/back_off.hpp"
#include "core/networks/concentrations.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

std::size_t size_of(const Tables& tables, std::int32_t j) { return static_cast<std::size_t>(tables.size[j]); }

// Where the cells [parent 0] … [parent l − 1][x] lie in the table, whose columns are in ascending order.
std::vector<std::size_t> places(const Tables& tables, const Families& families, std::size_t f, std::size_t l) {
  const std::int64_t first = families.parent_start[f];
  const std::size_t t = static_cast<std::size_t>(families.table[first + static_cast<std::int64_t>(l) - 1]);
  std::vector<std::int32_t> want(families.parent + first, families.parent + first + l);
  want.push_back(families.child[f]);
  std::vector<std::size_t> out{tables.offset[t]};
  for (const std::int32_t j : want) {
    std::size_t stride = 1;
    for (std::size_t i = tables.order(t); i-- > 0 && tables.columns(t)[i] != j;)
      stride *= size_of(tables, tables.columns(t)[i]);
    std::vector<std::size_t> next;
    next.reserve(out.size() * size_of(tables, j));
    for (const std::size_t at : out) {
      for (std::size_t v = 0; v < size_of(tables, j); ++v) next.push_back(at + v * stride);
    }
    out = std::move(next);
  }
  return out;
}

// Classes of one group share the sum of their counts.
void share(const std::int32_t* group, std::size_t classes, double* n) {
  std::vector<double> sum(classes, 0.0);
  for (std::size_t c = 0; c < classes; ++c) sum[static_cast<std::size_t>(group[c])] += n[c];
  for (std::size_t c = 0; c < classes; ++c) n[c] = sum[static_cast<std::size_t>(group[c])];
}

// The count of a row's value and of all values of the child in its cell, of one class.
struct Cell {
  double n = 0.0, total = 0.0;
};

// Where a row's values lie in a table, but for the child's, and how far apart the child's are.
struct Line {
  std::size_t first, stride = 1;
};

Line line_of(const Tables& tables, std::size_t t, std::int32_t child, const std::int64_t* code) {
  Line out{tables.offset[t]};
  std::size_t stride = 1;
  for (std::size_t i = tables.order(t); i-- > 0;) {
    const std::int32_t j = tables.columns(t)[i];
    if (j == child)
      out.stride = stride;
    else
      out.first += static_cast<std::size_t>(code[j]) * stride;
    stride *= size_of(tables, j);
  }
  return out;
}

}  // namespace

Level read_level(const Counts& counts, const Tables& tables, const Families& families, std::size_t f, std::size_t l) {
  const std::size_t K = counts.classes, size = size_of(tables, families.child[f]);
  Level out;
  if (l == 0) {
    std::size_t first = 0, all = 0;
    for (std::size_t j = 0; j < tables.d; ++j) {
      if (static_cast<std::int32_t>(j) < families.child[f]) first += size_of(tables, static_cast<std::int32_t>(j));
      all += size_of(tables, static_cast<std::int32_t>(j));
    }
    out.n.resize(size * K);
    for (std::size_t v = 0; v < size; ++v) {
      for (std::size_t c = 0; c < K; ++c) out.n[v * K + c] = counts.single[c * all + first + v];
    }
  } else {
    const std::vector<std::size_t> at = places(tables, families, f, l);
    out.cells = size ? at.size() / size : 0;
    out.n.resize(at.size() * K);
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (std::size_t c = 0; c < K; ++c) out.n[i * K + c] = counts.joint(c, at[i]);
    }
  }
  if (families.group) {
    for (std::size_t i = 0; i < out.n.size(); i += K) share(families.group + f * K, K, out.n.data() + i);
  }
  out.total.assign(out.cells * K, 0.0);
  for (std::size_t i = 0; i < out.cells; ++i) {
    for (std::size_t v = 0; v < size; ++v) {
      for (std::size_t c = 0; c < K; ++c) out.total[i * K + c] += out.n[(i * size + v) * K + c];
    }
  }
  return out;
}

void laplace(Level& level, std::size_t classes, std::size_t size, double alpha, double levels) {
  level.p.resize(level.n.size());
  for (std::size_t i = 0; i < level.n.size(); ++i) {
    const double total = level.total[i / (size * classes) * classes + i % classes];
    level.p[i] = backed_off(level.n[i], total, 1.0 / std::max(levels, 1.0), alpha * levels);
  }
}

void back_off(Level& level, const Level& below, std::size_t classes, std::size_t size, double a) {
  level.p.resize(level.n.size());
  // level's cell [s][p][x] stands on below's [s][x]
  const std::size_t inner = below.cells ? level.cells / below.cells : 0, row = size * classes;
  for (std::size_t i = 0; i < level.cells; ++i) {
    const double* base = below.p.data() + i / inner * row;
    for (std::size_t v = 0; v < row; ++v) {
      level.p[i * row + v] = backed_off(level.n[i * row + v], level.total[i * classes + v % classes], base[v], a);
    }
  }
}

std::vector<Level> family_levels(const Counts& counts, const Tables& tables, const Families& families, std::size_t f,
                                 const Smoothing& smoothing, const double* concentration) {
  const std::size_t size = size_of(tables, families.child[f]);
  const double levels = smoothing.levels[families.child[f]];
  std::vector<Level> out;
  for (std::size_t l = 0; l <= families.parents(f); ++l) {
    out.push_back(read_level(counts, tables, families, f, l));
    if (l == 0 || !concentration)
      laplace(out[l], counts.classes, size, smoothing.alpha, levels);
    else
      back_off(out[l], out[l - 1], counts.classes, size,
               concentration[families.parent_start[f] + static_cast<std::int64_t>(l) - 1]);
  }
  return out;
}

void family_concentrations(const Counts& counts, const Tables& tables, const Families& families,
                           const Smoothing& smoothing, Grid grid, double* out) {
  const std::size_t K = counts.classes;
  parallel_for(families.count, [&](std::size_t f, int) {
    const std::size_t size = size_of(tables, families.child[f]), row = size * K;
    ConcentrationSearch search(grid);
    // out.p here: the estimate without one unit of the cell's own row
    Level below = read_level(counts, tables, families, f, 0);
    const double levels = smoothing.levels[families.child[f]];
    below.p.resize(below.n.size());
    for (std::size_t i = 0; i < below.n.size(); ++i) {
      const double unit = std::min(1.0, below.n[i]);
      below.p[i] = backed_off(below.n[i] - unit, below.total[i % K] - unit, 1.0 / std::max(levels, 1.0),
                              smoothing.alpha * levels);
    }
    for (std::size_t l = 1; l <= families.parents(f); ++l) {
      Level level = read_level(counts, tables, families, f, l);
      const std::size_t inner = below.cells ? level.cells / below.cells : 0;
      level.p.resize(level.n.size());
      const auto each = [&](auto&& take) {  // the cells without one unit of their own row
        for (std::size_t i = 0; i < level.n.size(); ++i) {
          const std::size_t cell = i / row;
          const double unit = std::min(1.0, level.n[i]);
          take(i, level.n[i] - unit, level.total[cell * K + i % K] - unit, below.p[cell / inner * row + i % row]);
        }
      };
      search.begin();
      each([&](std::size_t i, double n, double total, double base) {
        if (level.n[i] > 0 && n + base > 0)
          search.add(level.n[i], n, total, base);  // otherwise no concentration can help
      });
      const double chosen = search.best(grid.concentrations[grid.size - 1]).concentration;
      out[families.parent_start[f] + static_cast<std::int64_t>(l) - 1] = chosen;
      each(
          [&](std::size_t i, double n, double total, double base) { level.p[i] = backed_off(n, total, base, chosen); });
      below = std::move(level);
    }
  });
}

std::vector<std::size_t> family_offsets(const Tables& tables, const Families& families) {
  std::vector<std::size_t> out(families.count + 1, 0);
  for (std::size_t f = 0; f < families.count; ++f) {
    std::size_t cells = size_of(tables, families.child[f]);
    for (std::int64_t i = families.parent_start[f]; i < families.parent_start[f + 1]; ++i) {
      if (__builtin_mul_overflow(cells, size_of(tables, families.parent[i]), &cells))
        throw std::length_error("too many cells");
    }
    if (__builtin_add_overflow(out[f], cells, &out[f + 1])) throw std::length_error("too many cells");
  }
  return out;
}

void family_logs(const Counts& counts, const Tables& tables, const Families& families, const Smoothing& smoothing,
                 const double* concentration, const std::size_t* offset, double* out) {
  parallel_for(families.count, [&](std::size_t f, int) {
    double* to = out + offset[f] * counts.classes;
    if (concentration) {
      const std::vector<Level> levels = family_levels(counts, tables, families, f, smoothing, concentration);
      for (const double p : levels.back().p) *to++ = std::log(p);
    } else {  // Laplace smoothing does not look at fewer parents
      Level level = read_level(counts, tables, families, f, families.parents(f));
      const std::int32_t j = families.child[f];
      laplace(level, counts.classes, size_of(tables, j), smoothing.alpha, smoothing.levels[j]);
      for (const double p : level.p) *to++ = std::log(p);
    }
  });
}

void family_row(const Counts& counts, const Tables& tables, const Families& families, const Smoothing& smoothing,
                const double* concentration, const std::int64_t* code, double* out) {
  const std::size_t K = counts.classes;
  std::vector<std::size_t> start(tables.d + 1, 0);
  for (std::size_t j = 0; j < tables.d; ++j) start[j + 1] = start[j] + static_cast<std::size_t>(tables.size[j]);
  std::fill_n(out, K, 0.0);
  std::vector<double> p(K);
  for (std::size_t f = 0; f < families.count; ++f) {
    const std::int32_t j = families.child[f];
    const std::size_t size = size_of(tables, j), parents = families.parents(f), x = static_cast<std::size_t>(code[j]);
    const double levels = smoothing.levels[j];
    for (std::size_t l = concentration ? 0 : parents; l <= parents; ++l) {
      const std::int64_t parent = families.parent_start[f] + static_cast<std::int64_t>(l) - 1;
      const Line line = l ? line_of(tables, static_cast<std::size_t>(families.table[parent]), j, code)
                          : Line{start[static_cast<std::size_t>(j)]};
      for (std::size_t c = 0; c < K; ++c) {
        const auto of_class = [&](std::size_t k, std::size_t cell) {
          return l ? counts.joint(k, cell) : counts.single[k * start.back() + cell];
        };
        const auto at = [&](std::size_t v) {
          const std::size_t cell = line.first + v * line.stride;
          if (!families.group) return of_class(c, cell);
          const std::int32_t* group = families.group + f * K;
          double sum = 0;
          for (std::size_t k = 0; k < K; ++k) sum += group[k] == group[c] ? of_class(k, cell) : 0.0;
          return sum;
        };
        Cell cell{at(x)};
        for (std::size_t v = 0; v < size; ++v) cell.total += at(v);
        p[c] = l && concentration
                   ? backed_off(cell.n, cell.total, p[c], concentration[parent])
                   : backed_off(cell.n, cell.total, 1.0 / std::max(levels, 1.0), smoothing.alpha * levels);
      }
    }
    for (std::size_t c = 0; c < K; ++c) out[c] += std::log(p[c]);
  }
}

}  // namespace tb
