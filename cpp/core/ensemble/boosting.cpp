#include "core/ensemble/boosting.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/runtime/aligned_array.hpp"
#include "core/ensemble/back_off_chains.hpp"
#include "core/encode/labels.hpp"
#include "core/ensemble/boosting_blocks.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/boosting.hpp"
#include "kernels/boosting_cuts.hpp"

namespace tb {
namespace {

class Search {
 public:
  Search(const CorrectionProblem& p, const CorrectionSearch& s)
      : p_(p),
        s_(s),
        K_(p.classes),
        slopes_(K_ == 2 ? 1 : K_),
        each_(correction_slopes(slopes_)),
        pairs_(slopes_ <= kPairedSlopes),
        space_(static_cast<std::size_t>(threads())) {
    for (std::size_t r = 0; r < p.rows; ++r) {
      check_class(p.y[r], K_);
      check_weight(p.w[r]);
      if (p.y[r] < 0 || p.w[r] == 0.0) continue;
      row_.push_back(static_cast<std::uint32_t>(r));
      key_.push_back(p.key[r]);
      y_.push_back(static_cast<std::uint32_t>(p.y[r]));
      w_.push_back(p.w[r]);
      unit_.push_back(s_.own * std::min(p.w[r], 1.0));
      scale_ = std::min(scale_, 1.0 / p.w[r]);
    }
    wide_ = (row_.size() + kCorrectionLanes - 1) / kCorrectionLanes * kCorrectionLanes;
    for (AlignedArray* each : {&joint_, &next_, &share_, &later_, &up_, &down_}) *each = AlignedArray(K_ * wide_);
    for (AlignedArray* each : {&loss_, &then_, &own_, &judge_}) *each = AlignedArray(wide_);
    for (AlignedArray* each : {&own_, &judge_}) std::fill_n(each->data(), wide_, 0.0);
    std::copy(y_.begin(), y_.end(), own_.data());
    std::fill_n(joint_.data(), K_ * wide_, 0.0);
    std::fill_n(share_.data(), K_ * wide_, 0.0);
    std::fill_n(up_.data(), K_ * wide_, 1.0);
    std::fill_n(down_.data(), K_ * wide_, 1.0);
    for (std::size_t i = 0; i < row_.size(); ++i) {
      for (std::size_t c = 0; c < K_; ++c) joint_.data()[c * wide_ + i] = p.joint[row_[i] * K_ + c];
    }
    bin_.resize(p.columns * row_.size());
    for (std::size_t j = 0; j < p.columns; ++j) {
      for (std::size_t i = 0; i < row_.size(); ++i) bin_[j * row_.size() + i] = p.bin[j * p.rows + row_[i]];
    }
    node_.resize(wide_);
    unit_.resize(wide_);
    out_.resize(row_.size());
    taken_.resize(row_.size());
    slope_ = Aligned<float>((std::min(s.rows, row_.size() / 2) + 1) * 2 * each_);
    std::fill_n(slope_.data(), slope_.size(), 0.0f);
    column_.resize(p.columns);
    std::iota(column_.begin(), column_.end(), 0u);
  }

  Corrections run() {
    Corrections out;
    if (row_.size() < 2 || K_ < 2) return out;
    const std::vector<double> none(K_, 0.0);
    move(none.data(), none.data());
    accept();
    std::size_t failed = 0;
    for (std::size_t t = 0; t < s_.most && failed < patience(out.found.size()); ++t) {
      Correction one = grow(t);
      double gain = 0;
      if (one.column.empty() || !((gain = judge(one)) > 0.0)) {
        ++failed;
        continue;
      }
      failed = 0;
      out.gain += gain;
      out.found.push_back(std::move(one));
      accept();
    }
    return out;
  }

 private:
  std::size_t patience(std::size_t found) const {
    return s_.patience + static_cast<std::size_t>(s_.eager * static_cast<double>(found));
  }

  // --- the cuts of one correction ---

  Correction grow(std::size_t t) {
    pick_rows(t);
    const std::size_t some = pick_columns(t);
    keep_telling();
    Correction out;
    const std::size_t m = some_.size();
    if (pairs_)
      paired_.read(p_, slopes_, bin_.data(), row_.size(), column_.data(), some, some_);
    else
      read_near(some);
    order_.resize(m + 1), later_order_.resize(m + 1), other_.resize(m + 1);  // the last is of no row: see part
    std::iota(order_.begin(), order_.end(), 0u);
    start_ = {0, static_cast<std::uint32_t>(m)};
    double score = 0;
    for (std::size_t l = 0; l < s_.depth; ++l) {
      best_.assign(some, Cut{});
      const auto ridge = static_cast<float>(std::max(scale_ * s_.ridge, 1e-18));  // its square must be above 0
      const CorrectionCells cells{start_.size() - 1, start_.data(), order_.data(), slope_.data(), slopes_, ridge};
      const std::size_t blocks = (some + kCorrectionColumns - 1) / kCorrectionColumns;
      parallel_for(pairs_ ? paired_.blocks() : blocks, [&](std::size_t block, int thread) {
        Aligned<float>& space = space_[static_cast<std::size_t>(thread)];
        const std::size_t first = block * kCorrectionColumns;
        if (pairs_)
          paired_.look(block, cells, space, best_.data());
        else
          look(first, std::min(some, first + kCorrectionColumns), cells, space);
      });
      const Cut* most = nullptr;
      for (const Cut& each : best_)
        if (each.column >= 0 && (!most || each.score > kMoreWorth * most->score)) most = &each;
      if (!most || !(most->score > score + scale_ * s_.least)) break;
      score = most->score;
      out.column.push_back(most->column);
      out.cut.push_back(most->at);
      const auto k = static_cast<std::size_t>(most - best_.data());
      if (l + 1 == s_.depth) break;
      if (pairs_)
        part(*most, paired_.near(k));
      else
        part(*most, NearBins<std::uint8_t>{&near_[k * m], 1, 1, none_of(column_[k])});
    }
    return out;
  }

  void read_near(std::size_t some) {
    const std::size_t m = some_.size();
    near_.resize(some * m + 1);
    for (std::size_t k = 0; k < some; ++k) {
      const std::uint8_t* bin = bins_of(column_[k]);
      const std::uint32_t* row = some_.data();
      std::uint8_t* to = near_.data() + k * m;
      const std::uint8_t none = none_of(column_[k]);
      for (std::size_t q = 0; q < m; ++q) to[q] = std::min(bin[row[q]], none);
    }
  }

  // The slopes of the rows picked. Those that are answered rightly, and are so sure that all of them together would
  // move no score, leave.
  void keep_telling() {
    const auto least = static_cast<float>(scale_ / static_cast<double>(some_.size()));
    std::size_t count = 0;
    std::uint32_t* some = some_.data();
    if (K_ == 2) {
      const double* share = share_.data() + wide_;
      float* slope = slope_.data();
      for (std::size_t q = 0; q < some_.size(); ++q) {
        const std::uint32_t i = some[q];
        const double w = scale_ * w_[i], p = share[i];
        const auto g = static_cast<float>(w * (own_.data()[i] - p));
        slope[2 * count] = g;
        slope[2 * count + 1] = static_cast<float>(w * p * (1 - p));
        some[count] = i;
        count += !(std::abs(g) < least);
      }
      some_.resize(count);
      return;
    }
    for (std::size_t q = 0; q < some_.size(); ++q) {
      const std::uint32_t i = some[q];
      const double w = scale_ * w_[i];
      float* slope = slope_.data() + 2 * count * each_;
      float most = 0;
      for (std::size_t c = 0; c < slopes_; ++c) {
        const double p = share_.data()[c * wide_ + i];
        const auto g = static_cast<float>(w * ((y_[i] == c ? 1.0 : 0.0) - p));
        slope[pairs_ ? 2 * c : c] = g;
        slope[pairs_ ? 2 * c + 1 : each_ + c] = static_cast<float>(w * p * (1 - p));
        most = std::max(most, std::abs(g));
      }
      some[count] = i;
      count += !(most < least);
    }
    some_.resize(count);
  }

  // Each cell in two, in the order of the rows; those without a bin leave.
  template <class T>
  void part(const Cut& cut, const NearBins<T>& near) {
    const bool ordered = p_.ordered[cut.column];
    const std::size_t at = static_cast<std::size_t>(cut.near) * near.times;
    later_start_.clear();
    std::size_t to = 0;
    for (std::size_t u = 0; u + 1 < start_.size(); ++u) {
      later_start_.push_back(static_cast<std::uint32_t>(to));
      std::size_t others = 0;
      for (std::size_t k = start_[u]; k < start_[u + 1]; ++k) {
        const std::uint32_t q = order_[k];
        const std::size_t bin = near.bin[q * near.stride];
        const bool here = bin != near.none, other = ordered ? bin <= at : bin == at;
        later_order_[to] = q;  // unless it stays, the next one takes its place
        other_[others] = q;
        to += here && !other;
        others += here && other;
      }
      later_start_.push_back(static_cast<std::uint32_t>(to));
      std::copy_n(other_.begin(), others, later_order_.begin() + static_cast<std::ptrdiff_t>(to));
      to += others;
    }
    later_start_.push_back(static_cast<std::uint32_t>(to));
    order_.swap(later_order_);
    start_.swap(later_start_);
  }

  // At most half of the rows, by a bit of their keys; from another place on for each correction.
  void pick_rows(std::size_t t) {
    const std::size_t n = row_.size(), most = std::min(s_.rows, n / 2);
    TB_CALL(correction_halves, key_.data(), n, t + (s_.seed << 32), taken_.data());
    some_.resize(most + 1);  // the last is of no row
    std::size_t i = t * 2 * most % n, count = 0, k = 0;
    for (; k < n && count < most; ++k, i = i + 1 == n ? 0 : i + 1) {
      some_[count] = static_cast<std::uint32_t>(i);
      count += taken_[i];
    }
    for (; k < n; ++k, i = i + 1 == n ? 0 : i + 1) taken_[i] = 0;
    some_.resize(count);
    judges_ = TB_CALL(correction_judges, taken_.data(), w_.data(), n, judge_.data());
  }

  std::size_t pick_columns(std::size_t t) {
    const std::size_t d = column_.size(), some = std::min(s_.columns, d);
    std::uint64_t state = correction_mixed(~(t + (s_.seed << 32)));
    for (std::size_t k = 0; k < some; ++k) {
      state = correction_mixed(state);
      std::swap(column_[k], column_[k + state % (d - k)]);
    }
    return some;
  }

  // What stands in near_ for rows that take no part: behind all bins.
  std::uint8_t none_of(std::size_t column) const { return static_cast<std::uint8_t>(p_.bins[column]); }
  const std::uint8_t* bins_of(std::size_t column) const { return bin_.data() + column * row_.size(); }

  // The best cut of each of some columns.
  void look(std::size_t first, std::size_t end, const CorrectionCells& cells, Aligned<float>& space) {
    CorrectionColumn column[kCorrectionColumns];
    std::size_t of[kCorrectionColumns], columns = 0, room = 0;
    for (std::size_t k = first; k < end; ++k) {
      const auto bins = static_cast<std::size_t>(p_.bins[column_[k]]);
      if (bins < 2) continue;
      column[columns] = {near_.data() + k * some_.size(), bins, p_.ordered[column_[k]], nullptr, nullptr};
      of[columns++] = k;
      room += correction_wide(bins) + correction_room(bins, slopes_);
    }
    if (columns == 0) return;
    space.at_least(room);
    float* next = space.data();
    for (std::size_t j = 0; j < columns; ++j) {
      column[j].score = next;
      column[j].sum = next += correction_wide(column[j].bins);
      next += correction_room(column[j].bins, slopes_);
    }
    TB_CALL(correction_scores, cells, column, columns);
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t cuts = column[j].ordered ? column[j].bins - 1 : column[j].bins;
      Cut& best = best_[of[j]];
      for (std::size_t b = 0; b < cuts; ++b) {
        if (!(column[j].score[b] > kMoreWorth * best.score)) continue;
        const auto at = static_cast<std::int32_t>(b);
        best = {static_cast<std::int32_t>(column_[of[j]]), at, at, column[j].score[b]};
      }
    }
  }

  // --- what it changes ---

  // Fills the values, moves all rows, each without itself, and tells by how much the mean log-loss of those falls on
  // which no cut was searched.
  double judge(Correction& one) {
    const std::size_t cuts = one.column.size(), nodes = (std::size_t{2} << cuts) - 1;
    std::fill(node_.begin(), node_.end(), std::uint16_t{0});
    std::fill(out_.begin(), out_.end(), std::uint8_t{0});
    for (std::size_t l = 0; l < cuts; ++l) {  // the nodes below node v are 2 v + 1 and 2 v + 2
      const auto column = static_cast<std::size_t>(one.column[l]);
      TB_CALL(correction_nodes, bins_of(column), row_.size(), p_.ordered[column], static_cast<std::uint8_t>(one.cut[l]),
              out_.data(), node_.data());
    }
    std::vector<double> n(nodes * K_, 0.0), e(nodes * K_, 0.0);
    count_nodes(nodes, n.data(), e.data());
    for (std::size_t v = nodes; v-- > 1;) {
      for (std::size_t c = 0; c < K_; ++c) {
        n[(v - 1) / 2 * K_ + c] += n[v * K_ + c];
        e[(v - 1) / 2 * K_ + c] += e[v * K_ + c];
      }
    }
    one.value.assign(nodes * K_, 0.0);
    for (std::size_t k = K_; k < nodes * K_; ++k)
      one.value[k] = s_.step * std::log((n[k] + s_.worth) / (e[k] + s_.worth));
    move(n.data(), e.data());
    return judges_ > 0 ? TB_CALL(correction_gain, loss_.data(), then_.data(), judge_.data(), wide_) / judges_ : 0.0;
  }

  // Rows of each node, and those expected there: four sums of each, since rows of a node wait for each other.
  void count_nodes(std::size_t nodes, double* n, double* e) {
    const auto all = [](const double* lane, std::size_t step) {
      return (lane[0] + lane[step]) + (lane[2 * step] + lane[3 * step]);
    };
    std::vector<double>& sum = lanes_;
    if (K_ == 2) {
      sum.assign(16 * nodes, 0.0);
      TB_CALL(paired_counts, node_.data(), y_.data(), w_.data(), share_.data(), wide_, row_.size(), sum.data());
      for (std::size_t k = 0; k < 2 * nodes; ++k) {
        n[k] = all(&sum[k / 2 * 16 + k % 2], 4);
        e[k] = all(&sum[k / 2 * 16 + k % 2 + 2], 4);
      }
      return;
    }
    for (std::size_t i = 0; i < row_.size(); ++i) n[node_[i] * K_ + y_[i]] += w_[i];
    for (std::size_t c = 0; c < K_; ++c) {
      const double* share = share_.data() + c * wide_;
      sum.assign(4 * nodes, 0.0);
      for (std::size_t i = 0; i < row_.size(); ++i) sum[4 * node_[i] + i % 4] += w_[i] * share[i];
      for (std::size_t v = 0; v < nodes; ++v) e[v * K_ + c] = all(&sum[4 * v], 1);
    }
  }

  // n, e: of each node, all of which are 0 at first.
  void move(const double* n, const double* e) {
    if (K_ == 2) {
      TB_CALL(paired_rows, PairedRows{wide_, node_.data(), own_.data(), unit_.data(), n, e, s_.worth, s_.step,
                                      joint_.data(), share_.data(), next_.data(), later_.data(), then_.data()});
      return;
    }
    for (std::size_t c = 0; c < K_; ++c) {
      TB_CALL(correction_parts, node_.data(), y_.data(), unit_.data(), share_.data() + c * wide_, row_.size(), K_, c, n,
              e, s_.worth, up_.data() + c * wide_, down_.data() + c * wide_);
    }
    const CorrectionRows rows{wide_,       K_,      joint_.data(), up_.data(),    down_.data(),
                              own_.data(), s_.step, next_.data(),  later_.data(), then_.data()};
    TB_CALL(correct_rows, rows);
  }
  void accept() {
    std::swap(joint_, next_);
    std::swap(share_, later_);
    std::swap(loss_, then_);
  }

  const CorrectionProblem& p_;
  const CorrectionSearch& s_;
  std::size_t K_, slopes_, each_;      // of two classes one slope tells the other; each_: room for them
  bool pairs_;                         // few slopes: cuts are looked for by paired_
  double scale_ = 1;                   // of slopes, so that weights of any size have a place in a float
  std::vector<Aligned<float>> space_;  // of each thread
  std::vector<std::uint32_t> row_, y_;
  std::vector<std::uint64_t> key_;
  std::vector<double> w_, unit_, lanes_;  // unit_: what leaves with the row
  std::size_t wide_ = 0;
  AlignedArray joint_, next_, share_, later_, up_, down_, loss_, then_, own_;
  AlignedArray judge_;  // the weights of rows on which no cut is searched
  double judges_ = 0;   // … and their sum
  std::vector<std::uint16_t> node_;
  std::vector<std::uint32_t> column_, some_;
  std::vector<std::uint32_t> order_, start_, later_order_, later_start_, other_;  // searched rows, cell after cell
  std::vector<std::uint8_t> out_, taken_;  // out_: a bin was missing; taken_: cuts are searched on it
  std::vector<std::uint8_t> bin_, near_;   // bins: (columns, rows that take part), (columns, searched rows)
  Aligned<float> slope_;                   // (searched rows, 2, each_): w ([y] - P), and w P (1 - P)
  std::vector<Cut> best_;
  PairedBlocks paired_;
};

}  // namespace

void cut_views(const CutViews& v, std::uint8_t* map) {
  for (std::size_t i = 0; i < v.count; ++i) {
    const auto j = static_cast<std::size_t>(v.column[i]);
    const auto cut = static_cast<std::uint8_t>(v.cut[i]);
    const std::uint8_t *bin = v.bin + v.start[j], *end = v.bin + v.start[j + 1];
    const bool missing = end[-1] == kNoBin;
    if (v.ordered[j])
      map = std::transform(bin, end, map, [cut](std::uint8_t b) { return static_cast<std::uint8_t>(b <= cut); });
    else
      map = std::transform(bin, end, map, [cut](std::uint8_t b) { return static_cast<std::uint8_t>(b == cut); });
    if (missing) map[-1] = kNoBin;
  }
}

Corrections find_corrections(const CorrectionProblem& problem, const CorrectionSearch& search) {
  return Search(problem, search).run();
}

}  // namespace tb
