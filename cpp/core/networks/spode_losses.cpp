// Leave-one-out of all super-parents in one pass. A row changes only the counts of its own class y, each by w = min(its
// weight, 1) (a row of weight 2 is two rows, of which one is left out):
//   P(c) = n_c / (n - w), (n_y - w) / (n - w) for y;   P(x_p | c) = P0;   P(x_k | c, x_p) Laplace or with one back-off.
// Rows that lose 1 share tables; for others the product of class y is computed by itself.
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "core/networks/averaged_cell.hpp"
#include "core/networks/averaged_rows.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr double kUnit = kScaleBits * 0.693147180559945309417232121458;
constexpr std::size_t kBlock = 2048;  // rows; sums are over blocks, in order

struct Truth {
  const std::int32_t* y;
  const double* w;  // null: 1
  double n;         // sum of the class weights
  double weight(std::size_t r) const { return w ? w[r] : 1.0; }
  double unit(std::size_t r) const { return std::min(weight(r), 1.0); }
};

class LossBlock {
 public:
  LossBlock(const AveragedCounts& m, const PackedCodes& codes, const Truth& truth)
      : m_(m),
        truth_(truth),
        lanes_(lanes_for(m.classes)),
        chunks_((m.classes + lanes_ - 1) / lanes_),
        rows_(m, codes, lanes_, kBlock),
        sum_(kBlock * 2 * lanes_ * chunks_),
        total_alone_(m.d()),
        total_both_(m.d()) {
    for (std::size_t c0 = 0; c0 < m.classes; c0 += lanes_) {
      plain_.emplace_back(m, c0);
      without_.emplace_back(m, c0, Removed{1.0, 1.0});
    }
    mixed_.at_least(m.entries * lanes_);
  }

  void run(std::size_t begin, std::size_t rows, double* loss) {
    begin_ = begin;
    rows_.read(begin, rows);
    for (std::size_t p = 0; p < m_.d(); ++p) loss[p] = of_parent(p);
  }

 private:
  bool counts(std::size_t r) const {
    const std::int32_t y = truth_.y[r];
    // A class that is gone without the row has probability 0 whatever the parent: nothing to learn.
    return y >= 0 && truth_.weight(r) > 0.0 && m_.class_weight[y] - truth_.unit(r) > 1e-12 * m_.class_weight[y];
  }

  double of_parent(std::size_t p) {
    parent_ = static_cast<std::int32_t>(p);
    const std::size_t K = m_.classes, cells = m_.size(p);
    std::vector<std::uint32_t>& key = rows_.keys(&parent_, 1);
    for (std::size_t r = 0; r < rows_.rows(); ++r) {
      const std::size_t cell = key[r] == AveragedRows::kNoKey ? cells : key[r];  // the last: missing
      key[r] = counts(begin_ + r)
                   ? static_cast<std::uint32_t>(cell * K + static_cast<std::size_t>(truth_.y[begin_ + r]))
                   : AveragedRows::kNoKey;
    }
    const auto& groups = rows_.groups((cells + 1) * K);
    for (std::size_t i = 0; i < chunks_; ++i) {
      plain_[i].parents(&parent_);
      without_[i].parents(&parent_);
    }
    std::size_t filled = cells;
    double loss = 0.0;
    for (const AveragedRows::Group& g : groups) {
      const std::size_t cell = g.key / K, y = g.key % K;
      for (std::size_t i = 0; i < chunks_; ++i) {
        if (cell < cells && cell != filled) plain_[i].fill(cell);
        if (cell < cells && cell != filled) without_[i].fill(cell);
        multiply(g, i, cell, y);
      }
      filled = cell;
      loss += of_group(g, cell, y);
    }
    return loss;
  }

  // The products of these rows for one chunk of the classes, each row of weight 1.
  void multiply(const AveragedRows::Group& g, std::size_t i, std::size_t cell, std::size_t y) {
    const std::size_t place = (m_.first[static_cast<std::size_t>(parent_)] + cell) * lanes_;
    const double* from = known(cell) ? plain_[i].table() : plain_[i].root();
    const double* other = known(cell) ? without_[i].table() : without_[i].root();
    alignas(64) double start[16];
    const auto begin = [&](std::size_t c, double n, const double* root) {
      Scaled first;
      first.times(n / truth_.n);
      if (known(cell)) first.times(root[place + c]);
      first.write(start + c, lanes_);
    };
    for (std::size_t c = 0; c < lanes_; ++c) {
      begin(c, m_.class_weight[std::min(i * lanes_ + c, m_.classes - 1)], plain_[i].root());
    }
    double* table = plain_[i].table();
    if (y / lanes_ == i || !known(cell)) {
      std::copy_n(from, plain_[i].length(), mixed_.data());
      table = mixed_.data();
    }
    if (y / lanes_ == i) {
      const std::size_t c = y % lanes_;
      for (std::size_t v = c; v < plain_[i].length(); v += lanes_) mixed_.data()[v] = other[v];
      begin(c, less(m_.class_weight[y], 1.0), without_[i].root());
    }
    double* sum = sum_.data() + i * kBlock * 2 * lanes_;
    const std::uint32_t* row = rows_.row() + g.from;
    for (std::size_t q = 0; q < g.count; ++q) {
      double* s = sum + row[q] * 2 * lanes_;
      std::fill(s, s + lanes_, 0.0);
      std::fill(s + lanes_, s + 2 * lanes_, kNothing);
    }
    rows_.add(table, start, rows_.run(table, nullptr), row, g.count, sum);
  }

  double of_group(const AveragedRows::Group& g, std::size_t cell, std::size_t y) {
    bool ready = false;
    double loss = 0.0;
    for (std::size_t q = 0; q < g.count; ++q) {
      const std::size_t r = rows_.row()[g.from + q];
      const double w = truth_.unit(begin_ + r);
      if (w != 1.0) {
        if (!ready) totals(cell, y);
        ready = true;
        direct(r, cell, y, w);
      }
      loss += truth_.weight(begin_ + r) * of_row(r, y, w);
    }
    return loss;
  }

  // -log P(y | row): the sums of all classes relative to the greatest power of 2^512 among them.
  double of_row(std::size_t r, std::size_t y, double w) const {
    double top = kNothing;
    for (std::size_t c = 0; c < m_.classes; ++c) top = std::max(top, product(r, c)[lanes_]);
    if (top == kNothing) return std::log(truth_.n - w) - std::log(m_.class_weight[y] - w);  // all are 0: the prior
    const auto relative = [&](std::size_t c) {
      const double down = top - product(r, c)[lanes_];
      return product(r, c)[0] * (down == 0.0 ? 1.0 : down == 1.0 ? 0x1p-512 : 0.0);
    };
    double others = 0.0;
    for (std::size_t c = 0; c < m_.classes; ++c) others += c == y ? 0.0 : relative(c);
    const double own = product(r, y)[0], down = top - product(r, y)[lanes_];
    if (down == 0.0) return std::log1p(others / own);
    return own > 0.0 ? std::log(others + relative(y)) - std::log(own) + kUnit * down : HUGE_VAL;
  }

  // x of the product of row r for class c; e follows `lanes_` further on.
  double* product(std::size_t r, std::size_t c) {
    return sum_.data() + (c / lanes_ * kBlock + r) * 2 * lanes_ + c % lanes_;
  }
  const double* product(std::size_t r, std::size_t c) const { return const_cast<LossBlock*>(this)->product(r, c); }

  bool known(std::size_t cell) const { return cell < m_.size(static_cast<std::size_t>(parent_)); }
  bool beside(std::size_t cell, std::size_t k) const { return known(cell) && static_cast<std::int32_t>(k) != parent_; }

  double alone(std::size_t y, std::size_t k, std::size_t x) const {
    return m_.single[y * m_.all_levels() + m_.first[k] + x];
  }
  double both(std::size_t y, std::size_t cell, std::size_t k, std::size_t x) const {
    const Family& f = plain_[0].family(k);
    return m_.count(y * m_.tables.cells() + f.offset + cell * f.step[0] + x * f.stride);
  }

  // n_k(y) and n_k(y, x_p) of every child.
  void totals(std::size_t cell, std::size_t y) {
    for (std::size_t k = 0; k < m_.d(); ++k) {
      total_alone_[k] = total_both_[k] = 0.0;
      for (std::size_t x = 0; x < m_.size(k); ++x) {
        total_alone_[k] += alone(y, k, x);
        if (beside(cell, k)) total_both_[k] += both(y, cell, k, x);
      }
    }
  }

  // The product of class y for row r with its weight w taken away.
  void direct(std::size_t r, std::size_t cell, std::size_t y, double w) {
    Scaled out;
    out.times((m_.class_weight[y] - w) / truth_.n);
    for (std::size_t k = 0; k < m_.d(); ++k) {
      const std::size_t v = rows_.level(r, k);
      if (v == AveragedRows::kNoLevel) continue;
      double p = smoothed(less(alone(y, k, v), w), less(total_alone_[k], w), m_.alpha, m_.levels[k]);
      if (beside(cell, k)) {
        const double n = less(both(y, cell, k, v), w), total = less(total_both_[k], w);
        p = m_.concentration ? backed_off(n, total, p, m_.concentration[k])
                             : smoothed(n, total, m_.alpha, m_.levels[k]);
      }
      out.times(p);
    }
    out.write(product(r, y), lanes_);
  }

  const AveragedCounts& m_;
  Truth truth_;
  std::size_t lanes_, chunks_;
  AveragedRows rows_;
  AlignedArray sum_;                           // (chunks, rows, 2 * lanes)
  std::vector<AveragedCell> plain_, without_;  // of each chunk; without: 1 taken from every count
  AlignedArray mixed_;
  std::vector<double> total_alone_, total_both_;
  std::size_t begin_ = 0;
  std::int32_t parent_ = 0;
};

}  // namespace

void spode_losses(const AveragedCounts& m, const PackedCodes& codes, const std::int32_t* y, const double* w,
                  double* out) {
  for (std::size_t r = 0; r < codes.n; ++r) {
    if (y[r] >= 0 && static_cast<std::size_t>(y[r]) >= m.classes)
      throw std::invalid_argument("a label beyond the classes");
    if (w && !(w[r] >= 0.0 && std::isfinite(w[r])))
      throw std::invalid_argument("weights must be finite and not negative");
  }
  std::fill(out, out + m.d(), 0.0);
  Truth truth{y, w, 0.0};
  for (std::size_t c = 0; c < m.classes; ++c) truth.n += m.class_weight[c];
  std::vector<std::unique_ptr<LossBlock>> of_thread(static_cast<std::size_t>(threads()));
  std::vector<std::vector<double>> loss(of_thread.size(), std::vector<double>(m.d()));
  const auto run = [&](std::size_t b, int t) {
    std::unique_ptr<LossBlock>& block = of_thread[static_cast<std::size_t>(t)];
    if (!block) block = std::make_unique<LossBlock>(m, codes, truth);
    block->run(b * kBlock, std::min(kBlock, codes.n - b * kBlock), loss[static_cast<std::size_t>(t)].data());
  };
  parallel_ordered((codes.n + kBlock - 1) / kBlock, run, [&](std::size_t, int t) {
    for (std::size_t p = 0; p < m.d(); ++p) out[p] += loss[static_cast<std::size_t>(t)][p];
  });
}

}  // namespace tb
