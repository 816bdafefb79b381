#include "core/networks/averaged_cell.hpp"

#include <algorithm>
#include <cmath>

namespace tb {
namespace {

template <class F>
void for_met(std::size_t size, const Met* met, F&& f) {
  const std::uint32_t* level = met ? met->level : nullptr;
  for (std::size_t i = 0; i < (level ? met->count : size); ++i) f(level ? level[i] : i);
}

}  // namespace

AveragedCell::AveragedCell(const AveragedCounts& m, std::size_t c0, Removed removed)
    : m_(m),
      c0_(c0),
      lanes_(lanes_for(m.classes)),
      classes_(std::min(lanes_, m.classes - c0)),
      removed_(removed),
      table_(m.entries * lanes_),
      root_(nullptr),
      family_(m.order * m.d()),
      families_(family_.data()) {
  if (removed.own == 0.0 && m.root) {
    root_ = m.root->data() + c0 / lanes_ * length();
  } else {
    own_root_.at_least(length());
    m.fill_root(c0, removed.own, own_root_.data());
    root_ = own_root_.data();
  }
  std::fill_n(table_.data() + m.all_levels() * lanes_, lanes_, 1.0);
}

void AveragedCell::parents(const std::int32_t* set, std::size_t which) {
  std::copy(set, set + m_.order, set_);
  std::copy(set, set + m_.order, ranked_);
  if (m_.concentration) m_.by_rank(ranked_, m_.order);
  const bool compiled = which != kAnySet && !m_.known.empty();
  if (!compiled) m_.fill_families(ranked_, family_.data());
  families_ = compiled ? m_.known.data() + which * family_.size() : family_.data();
  counts_ = m_.order == 1 ? m_.first[static_cast<std::size_t>(set[0])] : m_.tables.offset[m_.table(set, m_.order)];
  if (m_.concentration) return;
  cells_even_ = 1.0;
  for (std::size_t i = 0; i < m_.order; ++i) cells_even_ *= m_.levels[set[i]];
  seen_ = compiled ? m_.seen[which] : m_.seen_of(set);
}

double AveragedCell::n(std::size_t c, std::size_t cell) const {
  if (m_.order == 1) return m_.single[c * m_.all_levels() + counts_ + cell];
  return m_.count(c * m_.tables.cells() + counts_ + cell);
}

double AveragedCell::total(std::size_t cell) const {
  double sum = 0.0;
  for (std::size_t c = 0; c < m_.classes; ++c) sum += n(c, cell);
  return sum;
}

void AveragedCell::laplace_start(std::size_t cell) {
  const double K = static_cast<double>(m_.classes);
  for (std::size_t c = 0; c < lanes_; ++c) {
    const std::size_t from = c0_ + (c < classes_ ? c : 0);
    const double own = less(n(from, cell), removed_.own), seen = less(seen_, removed_.all);
    start_[c].times(m_.class_weight[from] > 0.0 ? smoothed(own, seen, m_.alpha, K * cells_even_) : 1.0 / cells_even_);
  }
}

double AveragedCell::log_scale(std::size_t c) const {
  if (m_.concentration || !(m_.class_weight[c] > 0.0)) return 0.0;
  return std::log(less(m_.all_weight, removed_.all)) - std::log(less(m_.class_weight[c], removed_.own));
}

void AveragedCell::fill(std::size_t cell, const Met* met) {
  std::fill(start_, start_ + lanes_, Scaled{});
  if (!m_.concentration) laplace_start(cell);
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
  if (m_.concentration) {
    begin_with_root(met);
    include_parent(0);
  }
  const std::size_t item = m_.whole ? sizeof(std::uint32_t) : sizeof(double), cells = m_.tables.cells();
  const char* joint = static_cast<const char*>(m_.joint) + c0_ * cells * item;
  for (std::size_t l = m_.concentration ? 1 : m_.order; l <= m_.order; ++l) {
    TB_CALL(fill_cell, {joint, m_.whole, cells, classes_, lanes_, m_.d(), families_ + (l - 1) * m_.d(), m_.first.data(),
                        value, l, m_.levels, m_.alpha, m_.concentration ? m_.concentration + (l - 1) * m_.d() : nullptr,
                        removed_.own, m_.total.data() + c0_, m_.classes, met, table_.data()});
    if (m_.concentration && l < m_.order) include_parent(l);
  }
  for (std::size_t i = 0; i < m_.order; ++i) {
    const auto j = static_cast<std::size_t>(set_[i]);
    for_met(m_.size(j), met ? met + j : nullptr,
            [&](std::size_t v) { std::fill_n(table_.data() + (m_.first[j] + v) * lanes_, lanes_, 1.0); });
  }
}

void AveragedCell::begin_with_root(const Met* met) {
  if (!met) {
    std::copy_n(root_, length(), table_.data());
    return;
  }
  for (std::size_t j = 0; j < m_.d(); ++j) {
    for_met(m_.size(j), met + j, [&](std::size_t v) {
      std::copy_n(root_ + (m_.first[j] + v) * lanes_, lanes_, table_.data() + (m_.first[j] + v) * lanes_);
    });
  }
}

}  // namespace tb
