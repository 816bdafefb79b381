#include "core/networks/variable_elimination.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/sum_product.hpp"

namespace tb {
namespace {

// A table is scaled by a power of two when its largest number of a class is below kRescaleBelow. A number below
// kMinScale stands for one of which too much may have been lost: a product that fell to zero was below 2^-1022, and
// what is left of such a sum has all its digits.
constexpr double kRescaleBelow = 0x1p-200, kMinScale = 0x1p-700;

constexpr std::size_t kLargeRoom = 1 << 18;  // numbers: not kept for the next row

}  // namespace

SumOut::SumOut(const Network& network)
    : net_(network),
      wanted_(network.d),
      factors_of_(network.d),
      cost_(network.d),
      seen_(network.d, 0),
      least_(network.classes),
      most_(network.classes) {}

bool SumOut::run(const std::int64_t* code, std::size_t row, double* out) {
  code_ = code;
  row_ = row;
  out_ = out;
  std::fill_n(out, net_.classes, 0.0);
  factors_.clear();
  column_.clear();
  stride_.clear();
  open_.clear();
  rooms_used_ = 0;
  std::fill(wanted_.begin(), wanted_.end(), false);
  std::fill(cost_.begin(), cost_.end(), std::numeric_limits<double>::infinity());
  collect();
  for (const std::int32_t j : open_) cost(j);
  while (!open_.empty()) {
    if (!sum_out(cheapest())) return false;
  }
  return true;
}

void SumOut::want(std::int32_t j) {
  if (code_[j] >= 0 || wanted_[static_cast<std::size_t>(j)]) return;
  wanted_[static_cast<std::size_t>(j)] = true;
  factors_of_[static_cast<std::size_t>(j)].clear();
  open_.push_back(j);
}

// A missing column that nothing hangs on sums to one: its family is left out.
void SumOut::collect() {
  const Families& all = net_.families;
  const double* p = net_.shares->get();
  for (std::size_t f = 0; f < net_.reals.count; ++f) {
    if (!net_.reals.missing(f, row_)) collect_real(f);
  }
  for (std::size_t f = all.count; f-- > 0;) {  // children before parents
    if (code_[all.child[f]] < 0 && !wanted_[static_cast<std::size_t>(all.child[f])]) continue;
    const std::size_t first = column_.size();
    std::size_t at = net_.offset[f] * net_.classes, stride = (net_.offset[f + 1] - net_.offset[f]) * net_.classes;
    const auto take = [&](std::int32_t j) {
      stride /= size(j);
      if (code_[j] >= 0) {
        at += static_cast<std::size_t>(code_[j]) * stride;
        return;
      }
      want(j);
      column_.push_back(j);
      stride_.push_back(stride);
    };
    for (std::int64_t i = all.parent_start[f]; i < all.parent_start[f + 1]; ++i) take(all.parent[i]);
    take(all.child[f]);
    if (column_.size() > first) {
      push(p + at, first);
    } else {
      for (std::size_t c = 0; c < net_.classes; ++c) out_[c] += net_.log[at + c];
    }
  }
}

// The density of a real value, for every combination of its missing parents: each class relative to its largest.
void SumOut::collect_real(std::size_t f) {
  const RealFamilies& reals = net_.reals;
  const std::size_t K = net_.classes, first = column_.size();
  std::size_t at = 0, cells = 1;
  std::vector<std::size_t> stride;  // of each parent in the cells of f
  for (std::int64_t i = reals.parent_start[f + 1], own = 1; i-- > reals.parent_start[f];
       own *= net_.size[reals.parent[i]])
    stride.push_back(static_cast<std::size_t>(own));
  std::reverse(stride.begin(), stride.end());
  std::vector<std::size_t> missing;  // strides of those that are missing
  for (std::int64_t i = reals.parent_start[f]; i < reals.parent_start[f + 1]; ++i) {
    const std::int32_t j = reals.parent[i];
    const std::size_t own = stride[static_cast<std::size_t>(i - reals.parent_start[f])];
    if (code_[j] >= 0) {
      at += static_cast<std::size_t>(code_[j]) * own;
      continue;
    }
    want(j);
    column_.push_back(j);
    missing.push_back(own);
    cells *= size(j);
    if (static_cast<double>(cells * K) > kMostCells) throw TooManyMissing{row_, static_cast<double>(cells * K)};
  }
  if (missing.empty()) {
    reals.add(f, at, row_, out_);
    return;
  }
  stride_.resize(column_.size());
  for (std::size_t i = column_.size(), own = K; i-- > first; own *= size(column_[i])) stride_[i] = own;
  double* p = room(cells * K);
  std::fill_n(p, cells * K, 0.0);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    std::size_t rest = cell, where = at;
    for (std::size_t i = missing.size(); i-- > 0; rest /= size(column_[first + i]))
      where += rest % size(column_[first + i]) * missing[i];
    reals.add(f, where, row_, p + cell * K);
  }
  for (std::size_t c = 0; c < K; ++c) {
    double top = -std::numeric_limits<double>::infinity();
    for (std::size_t cell = 0; cell < cells; ++cell) top = std::max(top, p[cell * K + c]);
    if (!std::isfinite(top)) top = 0.0;
    for (std::size_t cell = 0; cell < cells; ++cell) p[cell * K + c] = std::exp(p[cell * K + c] - top);
    out_[c] += top;
  }
  push(p, first);
}

double* SumOut::room(std::size_t size) {
  if (rooms_used_ == rooms_.size()) rooms_.emplace_back();
  AlignedArray& mine = rooms_[rooms_used_++];
  mine.at_least(size + kSumProductPad);
  std::fill_n(mine.data() + size, kSumProductPad, 0.0);
  return mine.data();
}

// The rooms of the factors that were summed, if they are large: a row needs no more than the tables that are in use.
void SumOut::give_back() {
  for (AlignedArray& mine : rooms_) {
    if (mine.size() > kLargeRoom && std::find(factor_.begin(), factor_.end(), mine.data()) != factor_.end())
      mine = AlignedArray();
  }
}

void SumOut::push(const double* p, std::size_t first) {
  const auto id = static_cast<std::uint32_t>(factors_.size());
  factors_.push_back({p, first, column_.size() - first, false});
  for (std::size_t i = first; i < column_.size(); ++i) factors_of_[static_cast<std::size_t>(column_[i])].push_back(id);
}

// over_ = the columns of all factors that hold j.
void SumOut::gather(std::int32_t j) {
  over_.clear();
  ++time_;
  for (const std::uint32_t id : factors_of_[static_cast<std::size_t>(j)]) {
    const Factor& f = factors_[id];
    for (std::size_t i = f.first; !f.gone && i < f.first + f.columns; ++i) {
      std::uint32_t& seen = seen_[static_cast<std::size_t>(column_[i])];
      if (seen != time_) over_.push_back(column_[i]);
      seen = time_;
    }
  }
}

double SumOut::cells_with(std::int32_t j) {
  gather(j);
  double n = static_cast<double>(net_.classes);
  for (const std::int32_t i : over_) n *= static_cast<double>(size(i));
  return n;
}

void SumOut::cost(std::int32_t j) { cost_[static_cast<std::size_t>(j)] = cells_with(j); }

// The column whose removal makes the smallest table; the first of equals.
std::int32_t SumOut::cheapest() const {
  std::int32_t best = open_[0];
  for (const std::int32_t j : open_) {
    const double mine = cost_[static_cast<std::size_t>(j)], least = cost_[static_cast<std::size_t>(best)];
    if (mine < least || (mine == least && j < best)) best = j;
  }
  return best;
}

bool SumOut::sum_out(std::int32_t j) {
  const double cells = cells_with(j);
  if (cells > kMostCells) throw TooManyMissing{row_, cells};
  over_.erase(std::find(over_.begin(), over_.end(), j));
  const std::size_t axes = over_.size(), K = net_.classes;
  factor_.clear();
  step_.clear();
  sizes_.clear();
  std::size_t kept = 1;
  for (const std::int32_t i : over_) {
    sizes_.push_back(size(i));
    kept *= size(i);
  }
  for (const std::uint32_t id : factors_of_[static_cast<std::size_t>(j)]) {
    Factor& f = factors_[id];
    if (f.gone) continue;
    f.gone = true;
    factor_.push_back(f.p);
    const auto stride_of = [&](std::int32_t k) {
      for (std::size_t i = f.first; i < f.first + f.columns; ++i) {
        if (column_[i] == k) return stride_[i];
      }
      return std::size_t{0};
    };
    for (const std::int32_t k : over_) step_.push_back(stride_of(k));
    step_.push_back(stride_of(j));
  }
  open_.erase(std::find(open_.begin(), open_.end(), j));
  double* table = room(kept * K);
  at_.resize(factor_.size() + axes);
  TB_CALL(sum_product, {factor_.size(), factor_.data(), step_.data(), axes, sizes_.data(), size(j), K, table},
          at_.data(), least_.data(), most_.data());
  give_back();
  if (!keep_in_range(table, kept)) return false;
  if (axes == 0) {
    for (std::size_t c = 0; c < K; ++c) out_[c] += std::log(table[c]);
    return true;
  }
  const std::size_t first = column_.size();
  column_.insert(column_.end(), over_.begin(), over_.end());
  stride_.resize(column_.size());
  for (std::size_t i = column_.size(), own = K; i-- > first; own *= size(column_[i])) stride_[i] = own;
  push(table, first);
  for (std::size_t i = first; i < first + axes; ++i) cost(column_[i]);
  return true;
}

bool SumOut::keep_in_range(double* table, std::size_t cells) {
  const std::size_t K = net_.classes;
  for (std::size_t c = 0; c < K; ++c) {
    if (!(least_[c] >= kMinScale)) return false;
    if (most_[c] >= kRescaleBelow) continue;
    const int power = std::ilogb(most_[c]);
    const double up = std::ldexp(1.0, -power);
    for (std::size_t i = 0; i < cells; ++i) table[i * K + c] *= up;
    out_[c] += power * std::log(2.0);
  }
  return true;
}

}  // namespace tb
