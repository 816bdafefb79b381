#include "core/networks/averaged_networks.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/networks/back_off.hpp"
#include "core/runtime/threads.hpp"

namespace tb {

std::size_t choose(std::size_t n, std::size_t r) {
  if (r > n) return 0;
  std::size_t out = 1;
  for (std::size_t i = 0; i < r; ++i) out = out * (n - i) / (i + 1);
  return out;
}

bool next_set(std::vector<std::int32_t>& set, std::size_t d) {
  const std::size_t m = set.size();
  std::size_t i = m;
  while (i > 0 && static_cast<std::size_t>(set[i - 1]) == d - m + i - 1) --i;
  if (i == 0) return false;
  ++set[i - 1];
  for (; i < m; ++i) set[i] = set[i - 1] + 1;
  return true;
}

namespace {

// Insertion: there are at most four.
template <class Before>
void sort_few(std::int32_t* column, std::size_t m, Before before) {
  for (std::size_t i = 1; i < m; ++i) {
    for (std::size_t q = i; q > 0 && before(column[q], column[q - 1]); --q) std::swap(column[q], column[q - 1]);
  }
}

}  // namespace

void AveragedCounts::check() {
  const char* message = "the tables must be all sets of 2 to order + 1 columns, in lexicographic order";
  all_weight = std::accumulate(class_weight, class_weight + classes, 0.0);
  first.assign(1, 0);
  for (std::size_t j = 0; j < d(); ++j) first.push_back(first.back() + static_cast<std::size_t>(tables.size[j]));
  start.assign(order + 3, 0);
  for (std::size_t m = 2; m <= order + 1; ++m) start[m + 1] = start[m] + choose(d(), m);
  if (tables.count != start[order + 2]) throw std::invalid_argument(message);
  for (std::size_t m = 2; m <= std::min(order + 1, d()); ++m) {
    std::vector<std::int32_t> set(m);
    std::iota(set.begin(), set.end(), 0);
    std::size_t t = start[m];
    do {
      if (tables.order(t) != m || !std::equal(set.begin(), set.end(), tables.columns(t)))
        throw std::invalid_argument(message);
      ++t;
    } while (next_set(set, d()));
  }
  bundle_columns();
}

void AveragedCounts::bundle_columns() {
  constexpr std::size_t most = 128;  // combinations: the tables of usual models stay in the first-level cache
  std::vector<std::size_t> column(d());
  std::iota(column.begin(), column.end(), std::size_t{0});
  std::stable_sort(column.begin(), column.end(), [&](std::size_t a, std::size_t b) { return size(a) < size(b); });
  bundles.clear();
  entries = all_levels() + 1;
  std::size_t cells = most;
  for (const std::size_t j : column) {
    cells *= size(j) + 1;
    if (bundles.empty() || cells > most || bundles.back().columns == kMostTogether) {
      bundles.push_back({});
      cells = size(j) + 1;
    }
    Bundle& own = bundles.back();
    own.column[own.columns++] = j;
  }
  for (Bundle& b : bundles) {
    b.at = entries;
    cells = 1;
    for (std::size_t i = 0; i < b.columns; ++i) cells *= size(b.column[i]) + 1;
    if (b.columns > 1) entries += cells;
  }
}

void AveragedCounts::sum_totals() {
  constexpr std::size_t few = 32;  // levels that are summed when they are asked for
  struct Axis {  // of a table: cells (above, size, below), whose sums over the middle go to (above, below)
    std::size_t offset, above, size, below, to;
  };
  std::vector<Axis> axes;
  std::size_t all = 0;
  total_of.clear();
  for (std::size_t t = 0; t < tables.count; ++t) {
    const std::size_t cells = tables.offset[t + 1] - tables.offset[t];
    std::size_t above = 1;
    for (std::size_t i = 0; i < tables.order(t); ++i) {
      const std::size_t own = size(static_cast<std::size_t>(tables.columns(t)[i]));
      total_of.push_back(own > few ? all : kNoTotal);
      if (own > few) {
        axes.push_back({tables.offset[t], above, own, cells / (above * own), all});
        all += cells / own;
      }
      above = std::max<std::size_t>(above * own, 1);
    }
  }
  total.assign(all * classes, 0.0);
  parallel_for(axes.size() * classes, [&](std::size_t block, int) {
    const Axis& a = axes[block / classes];
    const std::size_t c = block % classes, from = c * tables.cells() + a.offset;
    const auto sum = [&](const auto* n) {
      std::vector<double> sums(a.below);
      for (std::size_t i = 0; i < a.above; ++i) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::size_t x = 0; x < a.size; ++x) {
          for (double& s : sums) s += static_cast<double>(*n++);
        }
        for (std::size_t q = 0; q < a.below; ++q) total[(a.to + i * a.below + q) * classes + c] = sums[q];
      }
    };
    if (whole)
      sum(static_cast<const std::uint32_t*>(joint) + from);
    else
      sum(static_cast<const double*>(joint) + from);
  });
}

void AveragedCounts::fill_root(std::size_t c0, double own, double* out) const {
  const std::size_t V = all_levels(), lanes = lanes_for(classes);
  for (std::size_t c = 0; c < lanes; ++c) {
    const double* counted = single + (c0 + c < classes ? c0 + c : c0) * V;  // a lane to spare repeats the first class
    for (std::size_t j = 0; j < d(); ++j) {
      double sum = 0.0;
      for (std::size_t v = first[j]; v < first[j + 1]; ++v) sum += counted[v];
      for (std::size_t v = first[j]; v < first[j + 1]; ++v)
        out[v * lanes + c] = smoothed(less(counted[v], own), less(sum, own), alpha, levels[j]);
    }
    out[V * lanes + c] = 1.0;
  }
}

void AveragedCounts::compile() {
  const std::size_t lanes = lanes_for(classes), of_chunk = (all_levels() + 1) * lanes;
  auto made = std::make_shared<AlignedArray>((classes + lanes - 1) / lanes * of_chunk);
  for (std::size_t c0 = 0; c0 < classes; c0 += lanes) fill_root(c0, 0.0, made->data() + c0 / lanes * of_chunk);
  root = std::move(made);
  sum_totals();
  constexpr std::size_t most = std::size_t{1} << 18;
  const std::size_t sets = choose(d(), order), each = order * d();
  if (order > d() || sets > most / each) return;
  known.assign(sets * each, Family{});
  seen.assign(concentration ? 0 : sets, 0.0);
  std::vector<std::int32_t> set(order);
  std::iota(set.begin(), set.end(), 0);
  std::size_t i = 0;
  do {
    std::vector<std::int32_t> ranked = set;
    if (concentration) by_rank(ranked.data(), order);
    fill_families(ranked.data(), known.data() + i * each);
    if (!concentration) seen[i] = seen_of(set.data());
    ++i;
  } while (next_set(set, d()));
}

void AveragedCounts::fill_families(const std::int32_t* ranked, Family* out) const {
  for (std::size_t l = concentration ? 1 : order; l <= order; ++l) {
    for (std::size_t k = 0; k < d(); ++k) out[(l - 1) * d() + k] = family(ranked, l, k);
  }
}

double AveragedCounts::seen_of(const std::int32_t* set) const {
  std::size_t cells = 1;
  for (std::size_t i = 0; i < order; ++i) cells *= size(static_cast<std::size_t>(set[i]));
  double sum = 0.0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    double here = 0.0;
    for (std::size_t c = 0; c < classes; ++c) here += n(c, set, order, cell);
    sum += here;
  }
  return sum;
}

std::size_t AveragedCounts::table(const std::int32_t* column, std::size_t m) const {
  std::size_t t = start[m], from = 0;
  for (std::size_t i = 0; i < m; ++i) {
    const auto at = static_cast<std::size_t>(column[i]);
    t += choose(d() - from, m - i) - choose(d() - at, m - i);
    from = at + 1;
  }
  return t;
}

void AveragedCounts::by_rank(std::int32_t* column, std::size_t m) const {
  const auto before = [&](std::int32_t a, std::int32_t b) { return rank[a] != rank[b] ? rank[a] < rank[b] : a < b; };
  sort_few(column, m, before);
}

Family AveragedCounts::family(const std::int32_t* parent, std::size_t l, std::size_t k) const {
  const auto self = static_cast<std::int32_t>(k);
  Family f{};
  f.child = std::find(parent, parent + l, self) == parent + l;
  f.total = kNoTotal;
  if (!f.child) return f;
  std::int32_t column[kMostParents + 1];
  std::copy(parent, parent + l, column);
  column[l] = self;
  sort_few(column, l + 1, std::less<>{});
  const std::size_t t = table(column, l + 1);
  f.offset = tables.offset[t];
  std::size_t stride = 1;
  for (std::size_t i = l + 1; i-- > 0; stride *= size(static_cast<std::size_t>(column[i]))) {
    if (column[i] == self) {
      f.stride = stride;
      if (!total_of.empty()) f.total = total_of[static_cast<std::size_t>(tables.start[t]) + i];
    } else {
      f.step[std::find(parent, parent + l, column[i]) - parent] = stride;
    }
  }
  return f;
}

double AveragedCounts::n(std::size_t c, const std::int32_t* column, std::size_t m, std::size_t cell) const {
  if (m == 1) return single[c * all_levels() + first[static_cast<std::size_t>(column[0])] + cell];
  return count(c * tables.cells() + tables.offset[table(column, m)] + cell);
}

}  // namespace tb
