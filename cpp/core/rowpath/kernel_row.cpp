#include "core/rowpath/kernel_row.hpp"

#include <algorithm>
#include <cmath>

#include "core/density/kernel_bumps.hpp"

namespace tb {
namespace {

constexpr std::size_t kLeastFound = 256;  // values below which all cells are computed: they are few
constexpr std::size_t kMostAsked = 64;    // cells that are found one by one before all are computed
constexpr double kLeft = 1e-9;            // of a weight: less is nothing, as in kernel_combine
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

KernelRow::KernelRow(std::size_t classes, std::size_t d, const KernelView& from, Rule rule)
    : NumberTerm(classes, d), rule_(rule), entries_(from.entries) {
  for (std::size_t e = 0; e < from.entries; ++e) {
    const Multiset m = from[e];
    entries_[e].value.assign(m.value, m.value + m.size);
    entries_[e].weight.assign(m.weight, m.weight + m.size);
  }
}

std::size_t KernelRow::Entry::place(double x) const {
  return static_cast<std::size_t>(std::lower_bound(value.begin(), value.end(), x) - value.begin());
}

void KernelRow::Entry::change() {
  stale = true, covered = false;
  ++changes, asked = 0;
}

bool KernelRow::takes(std::size_t, double) {
  return std::none_of(numbers.begin(), numbers.end(), [](double x) { return std::isinf(x); });
}

void KernelRow::learn(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (std::isnan(numbers[j])) continue;
    Entry& e = entries_[j * classes() + c];
    const double x = numbers[j] + 0.0;  // not -0
    const std::size_t i = e.place(x);
    if (i < e.value.size() && e.value[i] == x) {
      e.weight[i] += w;
    } else {
      e.value.insert(e.value.begin() + static_cast<std::ptrdiff_t>(i), x);
      e.weight.insert(e.weight.begin() + static_cast<std::ptrdiff_t>(i), w);
    }
    e.change();
  }
}

bool KernelRow::gives(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (std::isnan(numbers[j])) continue;
    const Entry& e = entries_[j * classes() + c];
    const std::size_t i = e.place(numbers[j]);
    if (i == e.value.size() || e.value[i] != numbers[j]) return false;
    const double left = e.weight[i] - w;
    if (!(left >= -kLeft * e.weight[i]) || (left <= kLeft * e.weight[i] && e.value.size() <= 2)) return false;
  }
  return true;
}

void KernelRow::forget(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (std::isnan(numbers[j])) continue;
    Entry& e = entries_[j * classes() + c];
    const std::size_t i = e.place(numbers[j]);
    const double before = e.weight[i], left = before - w;
    if (left > kLeft * before) {
      e.weight[i] = left;
    } else {
      e.value.erase(e.value.begin() + static_cast<std::ptrdiff_t>(i));
      e.weight.erase(e.weight.begin() + static_cast<std::ptrdiff_t>(i));
    }
    e.change();
  }
}

// Tables stop to divide cells when these are more than values. Far from that, after few changes, none does.
bool KernelRow::can_find(const Entry& e) {
  const std::size_t n = e.value.size();
  return n >= kLeastFound && !e.cells.edge.empty() && e.cells.edge.size() <= n / 4 && e.changes <= n / 4;
}

bool KernelRow::add(double* acc) {
  for (std::size_t j = 0; j < d(); ++j) {
    const double x = numbers[j];
    if (std::isnan(x)) continue;
    if (std::isinf(x)) return false;
    for (std::size_t c = 0; c < classes(); ++c) {
      if (!add_entry(entries_[j * classes() + c], x, acc + c * kRows)) return false;
    }
  }
  return true;
}

bool KernelRow::add_entry(Entry& e, double x, double* acc) const {
  const Multiset values = e.values();
  if (e.stale) {
    const double h = bandwidth(values, rule_);
    if (!(h >= kNarrowest && std::isfinite(h))) return false;
    kernel_entry(values, h, e.numbers);
    e.stale = false;
  }
  if (!e.covered && (!can_find(e) || ++e.asked > kMostAsked)) {
    e.cells = kernel_cells(values, e.numbers);
    e.covered = true, e.changes = 0;
  }
  const Bumps bumps(values, e.numbers);
  unsigned left[1];
  double one[kCell];
  const double everywhere = -std::numeric_limits<double>::infinity();
  const double *edge = e.cells.edge.data(), *cell = e.cells.cell.data();
  std::size_t cells = e.cells.edge.size();
  if (!e.covered) {
    if (!kernel_cell(values, e.numbers, x, one)) one[0] = kNaN;
    edge = &everywhere, cell = one, cells = 1;
  }
  if (cells == 0 || TB_CALL(gauss_cells, &x, 1, edge, cell, cells, bumps.two_over_h, acc, left) > 0) {
    acc[0] += bumps.log_density(x);
  }
  return true;
}

KernelStatistics KernelRow::statistics() const {
  KernelStatistics out;
  out.start.push_back(0);
  for (const Entry& e : entries_) {
    out.value.insert(out.value.end(), e.value.begin(), e.value.end());
    out.weight.insert(out.weight.end(), e.weight.begin(), e.weight.end());
    out.start.push_back(static_cast<std::int64_t>(out.value.size()));
  }
  return out;
}

}  // namespace tb
