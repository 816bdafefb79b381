#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/networks/averaged_cell.hpp"
#include "core/networks/averaged_rows.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr double kUnit = kScaleBits * 0.693147180559945309417232121458;

// Some rows, and what has been summed for them.
class ScoreBlock {
 public:
  ScoreBlock(const AveragedCounts& m, const PackedCodes& codes, std::size_t most, Removed removed, bool even)
      : m_(m),
        removed_(removed),
        lanes_(lanes_for(m.classes)),
        rows_(m, codes, lanes_, most),
        sum_(most * 2 * lanes_),
        weight_(most),
        even_(even) {}

  void run(std::size_t begin, std::size_t rows, const double* weight, double min_count, double* out) {
    rows_.read(begin, rows);
    total_.clear();
    for (std::size_t c0 = 0; c0 < m_.classes; c0 += lanes_) {
      AveragedCell cell(m_, c0, removed_);
      clear();
      at_ = 0;
      std::vector<std::int32_t> set(m_.order);
      std::iota(set.begin(), set.end(), 0);
      for (std::size_t i = 0; m_.order <= m_.d() && (i == 0 || next_set(set, m_.d())); ++i) {
        if (weight[i] > 0.0) add(cell, set.data(), i, weight[i], min_count);
      }
      naive(cell);
      write(cell, c0, out + begin * m_.classes);
    }
  }

 private:
  void clear() {
    for (std::size_t r = 0; r < rows_.rows(); ++r) {
      double* s = sum_.data() + r * 2 * lanes_;
      std::fill(s, s + lanes_, 0.0);
      std::fill(s + lanes_, s + 2 * lanes_, kNothing);
    }
    std::fill(weight_.begin(), weight_.end(), 0.0);
    for_all_ = 0.0;
  }

  void add(AveragedCell& cell, const std::int32_t* set, std::size_t which, double weight, double min_count) {
    std::size_t cells = 1;
    for (std::size_t i = 0; i < m_.order; ++i) cells *= m_.size(static_cast<std::size_t>(set[i]));
    rows_.keys(set, m_.order);
    const auto& groups = rows_.groups(cells);
    if (groups.empty()) return;
    cell.parents(set, which);
    alignas(64) double start[16];
    std::size_t rows = 0;
    used_.clear();
    for (const AveragedRows::Group& g : groups) {
      if (at_ == total_.size()) total_.push_back(cell.total(g.key));  // with the first classes: the same for all
      if (!(less(total_[at_++], removed_.all) >= min_count)) continue;
      const std::uint32_t* row = rows_.row() + g.from;
      const Met* met = rows_.met(row, g.count);
      cell.fill(g.key, met);
      for (std::size_t c = 0; c < lanes_; ++c) {
        Scaled first = cell.start()[c];
        first.times(weight);
        first.write(start + c, lanes_);
      }
      rows_.add(cell.table(), start, rows_.run(cell.table(), met), row, g.count, sum_.data());
      used_.push_back(g);
      rows += g.count;
    }
    if (even_ && rows == rows_.rows()) {
      for_all_ += weight;
      return;
    }
    for (const AveragedRows::Group& g : used_) {
      for (std::size_t i = g.from; i < g.from + g.count; ++i) weight_[rows_.row()[i]] += weight;
    }
  }

  // Rows without a usable set of parents.
  void naive(const AveragedCell& cell) {
    for (double& w : weight_) w += for_all_;
    std::vector<std::uint32_t> row;
    for (std::uint32_t r = 0; r < rows_.rows(); ++r) {
      if (weight_[r] > 0.0) continue;
      row.push_back(r);
      weight_[r] = -1.0;
    }
    alignas(64) double one[16];
    for (std::size_t c = 0; c < lanes_; ++c) Scaled{}.write(one + c, lanes_);
    if (!row.empty()) rows_.add_singly(cell.root(), one, 0, row.data(), row.size(), sum_.data());
  }

  void write(const AveragedCell& cell, std::size_t c0, double* out) const {
    double scale[8];
    for (std::size_t c = 0; c < cell.classes(); ++c) scale[c] = cell.log_scale(c0 + c);
    for (std::size_t r = 0; r < rows_.rows(); ++r) {
      const bool averaged = weight_[r] > 0.0;
      const double share = averaged ? std::log(weight_[r]) : 0.0;
      const double* s = sum_.data() + r * 2 * lanes_;
      for (std::size_t c = 0; c < cell.classes(); ++c) {
        const double log = std::log(s[c]) + kUnit * s[lanes_ + c];
        out[r * m_.classes + c0 + c] = averaged ? log - share + scale[c] : log;
      }
    }
  }

  const AveragedCounts& m_;
  Removed removed_;
  std::size_t lanes_;
  AveragedRows rows_;
  AlignedArray sum_;            // (rows, 2 * lanes)
  std::vector<double> weight_;  // of the sets of parents used; -1: none
  bool even_;                   // all weights are 0 or 1: their sums are exact in any order
  double for_all_ = 0.0;        // what every row of the block has beside weight_
  std::vector<AveragedRows::Group> used_;
  std::vector<double> total_;  // n(cell) of each group of each set, in the order of `run`
  std::size_t at_ = 0;
};

// Each block makes its own tables of probabilities: as few blocks as memory allows, but one for each thread unless they
// would be small. What a row gets does not depend on its block.
std::size_t blocks_for(const AveragedCounts& m, std::size_t n) {
  constexpr std::size_t memory = 3 << 20, least = 512;
  const std::size_t row = 4 * m.bundles.size() + 16 * lanes_for(m.classes) + 16;
  const std::size_t most = std::max(least, memory / row);
  return std::max((n + most - 1) / most,
                  std::min<std::size_t>(static_cast<std::size_t>(threads()), (n + least - 1) / least));
}

}  // namespace

void averaged_scores(const AveragedCounts& m, const PackedCodes& codes, const double* weight, double min_count,
                     Removed removed, double* out) {
  if (codes.n == 0) return;
  const std::size_t sets = choose(m.d(), m.order);
  std::vector<double> share(weight, weight + sets);  // sums of weights must not overflow
  const double most = sets > 0 ? *std::max_element(share.begin(), share.end()) : 0.0;
  for (double& s : share) s = most > 0.0 ? s / most : 0.0;
  const std::size_t blocks = blocks_for(m, codes.n), step = (codes.n + blocks - 1) / blocks;
  const bool even = std::all_of(share.begin(), share.end(), [](double s) { return s == 0.0 || s == 1.0; });
  parallel_for(blocks, [&](std::size_t b, int) {
    const std::size_t begin = std::min(b * step, codes.n), rows = std::min(step, codes.n - begin);
    if (rows > 0) ScoreBlock(m, codes, rows, removed, even).run(begin, rows, share.data(), min_count, out);
  });
}

}  // namespace tb
