#include "core/ensemble/class_trees.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/encode/labels.hpp"
#include "core/networks/concentrations.hpp"
#include "core/counts/joint_tables.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr double kGain = 0.5;
constexpr std::size_t kMaxExactFloat = std::size_t{1} << 24;  // whole numbers below it are floats
constexpr double kAny = 1.0;  // a concentration, where configurations hold nothing and none matters

// The rows that take part, in order.
struct Taking {
  std::vector<std::uint32_t> row, y;
  std::vector<double> w, share;  // share: p before the first split
  bool ones = true;              // does each weigh 1?
};

Taking taking_part(const ClassTreeGrowth& g, const bool* part) {
  Taking t;
  double total = 0;
  std::vector<double> n(g.classes, 0.0);
  for (std::size_t r = 0; r < g.rows; ++r) {
    const double w = g.w ? g.w[r] : 1.0;
    check_class(g.y[r], g.classes);
    check_weight(w);
    if (g.y[r] < 0 || w == 0.0 || (part && !part[r])) continue;
    t.row.push_back(static_cast<std::uint32_t>(r));
    t.y.push_back(static_cast<std::uint32_t>(g.y[r]));
    t.w.push_back(w);
    t.ones = t.ones && w == 1.0;
    n[t.y.back()] += w;
    total += w;
  }
  for (std::size_t i = 0; i < t.row.size(); ++i) {
    const double unit = std::min(t.w[i], 1.0);
    const double above = std::max(n[t.y[i]] - unit, 0.0) + 1.0 / static_cast<double>(g.classes);
    t.share.push_back(std::max(above / (std::max(total - unit, 0.0) + 1.0), kLeastShare));
  }
  return t;
}

// Numbers for keys in the order in which they come.
class Numbering {
 public:
  explicit Numbering(std::size_t most) : key_(std::bit_ceil(2 * most + 2)), number_(key_.size(), kFree) {}
  void clear() {
    std::fill(number_.begin(), number_.end(), kFree);
    count_ = 0;
  }
  std::uint32_t operator()(std::uint64_t key) {
    const std::size_t mask = key_.size() - 1;
    std::size_t h = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15 >> 20) & mask;
    while (number_[h] != kFree && key_[h] != key) h = (h + 1) & mask;
    if (number_[h] == kFree) key_[h] = key, number_[h] = count_++;
    return number_[h];
  }
  std::uint32_t count() const { return count_; }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  std::vector<std::uint64_t> key_;
  std::vector<std::uint32_t> number_;
  std::uint32_t count_ = 0;
};

template <class T>
class Member {
 public:
  Member(const ClassTreeGrowth& g, const T* codes)
      : g_(g),
        codes_(codes),
        stride_(g.classes + 1),
        numbering_(g.rows),
        id_(g.rows),
        search_(g.grid),
        now_({&kAny, 1}) {}

  void grow(const Taking& all, const std::int32_t* candidate, std::int32_t* chosen) {
    row_ = all.row, y_ = all.y, w_ = all.w, share_ = all.share;
    ones_ = all.ones && all.row.size() < kMaxExactFloat;
    configuration_.assign(row_.size(), 0);
    configurations_ = 1;
    double cells = static_cast<double>(g_.classes);
    for (std::size_t level = 0; level < g_.depth; ++level) {
      chosen[level] = -1;
      Choice best{-1, 0.0, -std::numeric_limits<double>::infinity()};
      for (std::size_t k = 0; k < g_.tries && !row_.empty(); ++k) {
        const std::int32_t s = candidate[level * g_.tries + k];
        if (s < 0 || cells * g_.bins[s] > g_.most_cells) continue;
        const Choice now = judge(s);
        if (now.sum > best.sum) best = now;
      }
      if (best.split < 0 || !(best.sum > present() + kGain)) continue;
      take(best);
      cells *= g_.bins[best.split];
      chosen[level] = best.split;
    }
  }

 private:
  struct Choice {
    std::int32_t split;
    double concentration, sum;
  };

  // id_: the configuration of each row after a split; rows without a bin get the one behind the last. count_: classes
  // of each configuration, then their sum.
  void cut(std::int32_t s) {
    const auto bins = static_cast<std::size_t>(g_.bins[s]);
    const T* code = codes_ + static_cast<std::size_t>(g_.column[s]) * g_.rows;
    const std::uint8_t* map = g_.map + static_cast<std::size_t>(s) * (g_.levels + 1);
    const std::size_t dense = configurations_ * bins;
    const bool few = dense <= 2 * g_.rows + 64;
    if (!few) numbering_.clear();
    const std::size_t none = few ? dense : row_.size();
    for (std::size_t i = 0; i < row_.size(); ++i) {
      const T c = code[row_[i]];
      const std::uint8_t bin = map[c == kNoCode<T> ? g_.levels : c];
      const std::size_t place = configuration_[i] * bins + bin;
      id_[i] = static_cast<std::uint32_t>(bin == kNoBin ? none : few ? place : numbering_(place));
    }
    cut_ = none;
    if (ones_) {
      one_count_.assign((none + 1) * stride_, 0.0f);
      for (std::size_t i = 0; i < row_.size(); ++i) {
        float* n = &one_count_[id_[i] * stride_];
        n[y_[i]] += 1.0f;
        n[g_.classes] += 1.0f;
      }
      std::fill_n(&one_count_[none * stride_], stride_, 0.0f);
      return;
    }
    count_.assign((none + 1) * stride_, 0.0);
    for (std::size_t i = 0; i < row_.size(); ++i) {
      double* n = &count_[id_[i] * stride_];
      n[y_[i]] += w_[i];
      n[g_.classes] += w_[i];
    }
    std::fill_n(&count_[none * stride_], stride_, 0.0);
  }

  // What the rest of row i's configuration holds: of its class, and in all. Nothing if it is alone.
  void others(std::size_t i, double& above, double& below) const {
    if (ones_) {
      const float* n = &one_count_[id_[i] * stride_];
      const float rest = n[g_.classes] - 1.0f;
      above = static_cast<double>(rest > 0.0f ? std::max(n[y_[i]] - 1.0f, 0.0f) : 0.0f);
      below = static_cast<double>(std::max(rest, 0.0f));
      return;
    }
    const double* n = &count_[id_[i] * stride_];
    const double unit = std::min(w_[i], 1.0);
    const double rest = n[g_.classes] - unit;
    above = rest > 0 ? std::max(n[y_[i]] - unit, 0.0) : 0.0;
    below = std::max(rest, 0.0);
  }

  // What the rows are worth as they are.
  double present() {
    now_.begin();
    if (ones_) {
      above_.assign(row_.size(), 0.0);
      now_.add_ones(above_.data(), above_.data(), share_.data(), row_.size());
      return now_.best(kAny).sum;
    }
    for (std::size_t i = 0; i < row_.size(); ++i) now_.add(w_[i], 0.0, 0.0, share_[i]);
    return now_.best(kAny).sum;
  }

  Choice judge(std::int32_t s) {
    cut(s);
    search_.begin();
    if (ones_) {
      above_.resize(row_.size()), below_.resize(row_.size());
      for (std::size_t i = 0; i < row_.size(); ++i) others(i, above_[i], below_[i]);
      search_.add_ones(above_.data(), below_.data(), share_.data(), row_.size());
    }
    for (std::size_t i = 0; i < row_.size() && !ones_; ++i) {
      double above, below;
      others(i, above, below);
      search_.add(w_[i], above, below, share_[i]);
    }
    const ConcentrationSearch::Best best = search_.best(g_.grid.concentrations[0]);
    return {s, best.concentration, best.sum};
  }

  // Rows that are alone or have no bin leave: no later split can change their p.
  void take(const Choice& choice) {
    cut(choice.split);
    constexpr std::uint32_t unseen = ~std::uint32_t{0};
    std::vector<std::uint32_t> number(cut_ + 1, unseen);
    std::size_t kept = 0;
    configurations_ = 0;
    for (std::size_t i = 0; i < row_.size(); ++i) {
      double above, below;
      others(i, above, below);
      if (!(below > 0)) continue;
      std::uint32_t& at = number[id_[i]];
      if (at == unseen) at = static_cast<std::uint32_t>(configurations_++);
      configuration_[kept] = at;
      share_[kept] = std::max((above + choice.concentration * share_[i]) / (below + choice.concentration), kLeastShare);
      row_[kept] = row_[i], y_[kept] = y_[i], w_[kept] = w_[i];
      ++kept;
    }
    row_.resize(kept), y_.resize(kept), w_.resize(kept), share_.resize(kept), configuration_.resize(kept);
  }

  const ClassTreeGrowth& g_;
  const T* codes_;
  std::size_t stride_;
  Numbering numbering_;
  std::vector<std::uint32_t> row_, y_;  // of rows that are still in a configuration
  std::vector<double> w_, share_;
  std::vector<std::size_t> configuration_;
  std::size_t configurations_ = 1;
  std::vector<std::uint32_t> id_;
  std::size_t cut_ = 0;  // configurations after the split at hand
  bool ones_ = false;    // each row weighs 1, and floats hold their counts
  std::vector<float> one_count_;
  std::vector<double> count_, above_, below_;
  ConcentrationSearch search_, now_;
};

}  // namespace

template <class T>
void grow_class_trees(const ClassTreeGrowth& g, const T* codes, std::int32_t* chosen) {
  const Taking all = g.part ? Taking{} : taking_part(g, nullptr);
  std::vector<std::unique_ptr<Member<T>>> space(static_cast<std::size_t>(threads()));
  parallel_for(g.members, [&](std::size_t m, int thread) {
    auto& mine = space[static_cast<std::size_t>(thread)];
    if (!mine) mine = std::make_unique<Member<T>>(g, codes);
    mine->grow(g.part ? taking_part(g, g.part + m * g.rows) : all, g.candidate + m * g.depth * g.tries,
               chosen + m * g.depth);
  });
}

template <class T>
void check_class_tree_codes(const ClassTreeGrowth& g, const T* codes, std::size_t columns) {
  for (std::size_t i = 0; i < columns * g.rows; ++i) {
    if (codes[i] >= g.levels && codes[i] != kNoCode<T>) throw std::invalid_argument("a code has no level in map");
  }
}

template void check_class_tree_codes(const ClassTreeGrowth&, const std::uint8_t*, std::size_t);
template void check_class_tree_codes(const ClassTreeGrowth&, const std::uint16_t*, std::size_t);
template void check_class_tree_codes(const ClassTreeGrowth&, const std::uint32_t*, std::size_t);
template void grow_class_trees(const ClassTreeGrowth&, const std::uint8_t*, std::int32_t*);
template void grow_class_trees(const ClassTreeGrowth&, const std::uint16_t*, std::int32_t*);
template void grow_class_trees(const ClassTreeGrowth&, const std::uint32_t*, std::int32_t*);

}  // namespace tb
