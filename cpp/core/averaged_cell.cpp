#include "core/averaged_cell.hpp"

#include <algorithm>
#include <cmath>

namespace tb {

AveragedCell::AveragedCell(const AveragedCounts& m, std::size_t c0, Removed removed)
    : m_(m),
      c0_(c0),
      lanes_(lanes_for(m.classes)),
      classes_(std::min(lanes_, m.classes - c0)),
      removed_(removed),
      table_((m.all_levels() + 1) * lanes_),
      root_((m.all_levels() + 1) * lanes_),
      family_(m.order * m.d()),
      families_(family_.data()) {
  const std::size_t V = m.all_levels();
  for (std::size_t c = 0; c < lanes_; ++c) {
    const double* n = m.single + (c0 + (c < classes_ ? c : 0)) * V;
    for (std::size_t j = 0; j < m.d(); ++j) {
      double total = 0.0;
      for (std::size_t v = m.first[j]; v < m.first[j + 1]; ++v) total += n[v];
      for (std::size_t v = m.first[j]; v < m.first[j + 1]; ++v) {
        root_.data()[v * lanes_ + c] =
            smoothed(less(n[v], removed.own), less(total, removed.own), m.alpha, m.levels[j]);
      }
    }
    root_.data()[V * lanes_ + c] = 1.0;
  }
  std::copy(root_.data(), root_.data() + length(), table_.data());
}

void AveragedCell::parents(const std::int32_t* set, std::size_t which) {
  std::copy(set, set + m_.order, set_);
  std::copy(set, set + m_.order, ranked_);
  if (m_.strength) m_.by_rank(ranked_, m_.order);
  const bool compiled = which != kAnySet && !m_.known.empty();
  if (!compiled) m_.fill_families(ranked_, family_.data());
  families_ = compiled ? m_.known.data() + which * family_.size() : family_.data();
  if (m_.strength) return;
  cells_even_ = 1.0;
  for (std::size_t i = 0; i < m_.order; ++i) cells_even_ *= m_.levels[set[i]];
  seen_ = compiled ? m_.seen[which] : m_.seen_of(set);
}

double AveragedCell::total(std::size_t cell) const {
  double sum = 0.0;
  for (std::size_t c = 0; c < m_.classes; ++c) sum += m_.n(c, set_, m_.order, cell);
  return sum;
}

void AveragedCell::laplace_start(std::size_t cell) {
  const double K = static_cast<double>(m_.classes);
  for (std::size_t c = 0; c < lanes_; ++c) {
    const std::size_t from = c0_ + (c < classes_ ? c : 0);
    const double n = less(m_.n(from, set_, m_.order, cell), removed_.own), seen = less(seen_, removed_.all);
    start_[c].times(m_.class_weight[from] > 0.0 ? smoothed(n, seen, m_.alpha, K * cells_even_) : 1.0 / cells_even_);
  }
}

double AveragedCell::log_scale(std::size_t c) const {
  if (m_.strength || !(m_.class_weight[c] > 0.0)) return 0.0;
  double sum = 0.0;
  for (std::size_t k = 0; k < m_.classes; ++k) sum += m_.class_weight[k];
  return std::log(less(sum, removed_.all)) - std::log(less(m_.class_weight[c], removed_.own));
}

void AveragedCell::fill(std::size_t cell) {
  std::fill(start_, start_ + lanes_, Scaled{});
  if (!m_.strength) laplace_start(cell);
  std::size_t value[kMostParents] = {};  // in the order of ranked_
  for (std::size_t i = m_.order; i-- > 0;) {
    const std::size_t size = m_.size(static_cast<std::size_t>(set_[i]));
    value[std::find(ranked_, ranked_ + m_.order, set_[i]) - ranked_] = cell % size;
    cell /= size;
  }
  const auto include_parent = [&](std::size_t i) {  // as a child of those before it
    const double* p = table_.data() + (m_.first[static_cast<std::size_t>(ranked_[i])] + value[i]) * lanes_;
    for (std::size_t c = 0; c < lanes_; ++c) start_[c].times(p[c]);
  };
  if (m_.strength) {
    std::copy(root_.data(), root_.data() + length(), table_.data());
    include_parent(0);
  }
  const std::size_t item = m_.whole ? sizeof(std::uint32_t) : sizeof(double), cells = m_.tables.cells();
  const char* joint = static_cast<const char*>(m_.joint) + c0_ * cells * item;
  for (std::size_t l = m_.strength ? 1 : m_.order; l <= m_.order; ++l) {
    TB_CALL(fill_cell,
            {joint, m_.whole, cells, classes_, lanes_, m_.d(), families_ + (l - 1) * m_.d(), m_.first.data(), value, l,
             m_.levels, m_.alpha, m_.strength ? m_.strength + (l - 1) * m_.d() : nullptr, removed_.own, table_.data()});
    if (m_.strength && l < m_.order) include_parent(l);
  }
  for (std::size_t i = 0; i < m_.order; ++i) {
    const auto j = static_cast<std::size_t>(set_[i]);
    std::fill(table_.data() + m_.first[j] * lanes_, table_.data() + m_.first[j + 1] * lanes_, 1.0);
  }
}

}  // namespace tb
