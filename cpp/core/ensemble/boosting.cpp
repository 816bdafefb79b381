#include "core/ensemble/boosting.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/runtime/aligned_array.hpp"
#include "core/ensemble/bins.hpp"
#include "core/encode/labels.hpp"
#include "core/ensemble/boosting_blocks.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/boosting.hpp"
#include "kernels/boosting_cuts.hpp"

namespace tb {
namespace {

// The depth of each tree. Every other tree is deeper; after some tries the depth moves to where more was gained.
class TreeDepth {
 public:
  explicit TreeDepth(const BoostingOptions& s)
      : least_(s.depth), most_(std::max(s.depth, s.max_depth)), now_(s.depth) {}

  std::size_t of(std::size_t t) const { return std::min(now_ + (t % 2 == 0 ? 0 : kDeeper), most_); }

  void add(std::size_t t, double gain) {
    (t % 2 == 0 ? usual_ : deeper_) += gain;
    if (t % kTries + 1 < kTries) return;
    if (deeper_ > kWorth * usual_)
      now_ = std::min(now_ + 1, most_);
    else if (now_ > least_)
      --now_;
    usual_ = deeper_ = 0;
  }

 private:
  static constexpr std::size_t kDeeper = 2, kTries = 8;
  static constexpr double kWorth = 1.05;  // deeper trees take longer
  std::size_t least_, most_, now_;
  double usual_ = 0, deeper_ = 0;
};

// Rows and their predictions. Arrays of `padded` are (classes, padded) or (padded); next: with the tree that is tried.
struct ScoredRows {
  std::size_t padded = 0, classes = 0;
  std::vector<std::uint32_t> y;
  std::vector<double> self_weight;  // what a leaf is without when it scores the row
  std::vector<std::uint16_t> node;
  AlignedArray joint, next_joint, probability, next_probability, observed, expected, loss, next_loss;
  AlignedArray own;  // y as doubles

  // self_weight gets the rows to spare.
  void resize(std::size_t K) {
    classes = K;
    padded = (y.size() + kBoostingLanes - 1) / kBoostingLanes * kBoostingLanes;
    for (AlignedArray* each : {&joint, &next_joint, &probability, &next_probability, &observed, &expected})
      *each = AlignedArray(K * padded);
    for (AlignedArray* each : {&loss, &next_loss, &own}) *each = AlignedArray(padded);
    std::fill_n(own.data(), padded, 0.0);
    std::copy(y.begin(), y.end(), own.data());
    std::fill_n(joint.data(), K * padded, 0.0);
    std::fill_n(probability.data(), K * padded, 0.0);
    std::fill_n(observed.data(), K * padded, 1.0);
    std::fill_n(expected.data(), K * padded, 1.0);
    node.assign(padded, 0);
    self_weight.resize(padded);
  }

  // n, e: of each node, all of which are 0 at first.
  void update(const double* n, const double* e, const BoostingOptions& options) {
    if (classes == 2) {
      TB_CALL(paired_rows, PairedRows{padded, node.data(), own.data(), self_weight.data(), n, e, options.pseudo_count,
                                      options.learning_rate, joint.data(), probability.data(), next_joint.data(),
                                      next_probability.data(), next_loss.data()});
      return;
    }
    for (std::size_t c = 0; c < classes; ++c) {
      TB_CALL(leaf_ratios, node.data(), y.data(), self_weight.data(), probability.data() + c * padded, y.size(),
              classes, c, n, e, options.pseudo_count, observed.data() + c * padded, expected.data() + c * padded);
    }
    const BoostedRows rows{padded,
                           classes,
                           joint.data(),
                           observed.data(),
                           expected.data(),
                           own.data(),
                           options.learning_rate,
                           next_joint.data(),
                           next_probability.data(),
                           next_loss.data()};
    TB_CALL(boost_rows, rows);
  }

  void accept() {
    std::swap(joint, next_joint);
    std::swap(probability, next_probability);
    std::swap(loss, next_loss);
  }
};

class BoostingSearch {
 public:
  BoostingSearch(const BoostingData& p, const BoostingOptions& s)
      : data_(p),
        options_(s),
        K_(p.classes),
        gradients_(K_ == 2 ? 1 : K_),
        padded_gradients_(padded_gradients(gradients_)),
        depth_(s),
        is_interleaved_(gradients_ <= kPairedGradients),
        scratch_(static_cast<std::size_t>(threads())) {
    for (std::size_t r = 0; r < p.rows; ++r) {
      check_class(p.y[r], K_);
      check_weight(p.w[r]);
      if (p.y[r] < 0 || p.w[r] == 0.0) continue;
      row_.push_back(static_cast<std::uint32_t>(r));
      key_.push_back(p.key[r]);
      rows_.y.push_back(static_cast<std::uint32_t>(p.y[r]));
      w_.push_back(p.w[r]);
      const bool judges = fraction(splitmix64(p.key[r] ^ kValidationSalt)) < s.validation_share;
      is_validation_.push_back(judges);
      if (judges) judge_.push_back(static_cast<std::uint32_t>(w_.size() - 1));
      count_weight_.push_back(judges ? 0.0 : p.w[r]);
      rows_.self_weight.push_back(own_share(p.w[r]));
      scale_ = std::min(scale_, 1.0 / p.w[r]);
    }
    rows_.resize(K_);
    for (const std::uint32_t i : judge_) judges_.y.push_back(rows_.y[i]);
    judges_.resize(K_);  // they have no part in the leaves
    holdout_weight_ = AlignedArray(s.validation_share > 0 ? judges_.padded : rows_.padded);
    std::fill_n(holdout_weight_.data(), holdout_weight_.size(), 0.0);
    for (std::size_t k = 0; k < judge_.size(); ++k) holdout_total_ += holdout_weight_.data()[k] = w_[judge_[k]];
    bins_ = p.bin;
    if (row_.size() < p.rows) {
      bin_.resize(p.columns * row_.size());
      bins_ = bin_.data();
    }
    for (std::size_t j = 0; j < p.columns && !bin_.empty(); ++j) {
      for (std::size_t i = 0; i < row_.size(); ++i) bin_[j * row_.size() + i] = p.bin[j * p.rows + row_[i]];
    }
    missing_.resize(row_.size());
    in_sample_.resize(row_.size());
    gradient_ = Aligned<float>((std::min(s.rows, row_.size() / 2) + 1) * 2 * padded_gradients_);
    std::fill_n(gradient_.data(), gradient_.size(), 0.0f);
    column_.resize(p.columns);
    std::iota(column_.begin(), column_.end(), 0u);
  }

  BoostedTrees run() {
    BoostedTrees out;
    if (row_.size() < 2 || K_ < 2) return out;
    start();
    std::size_t failed = 0;
    for (std::size_t t = 0; t < options_.max_tries && failed < patience(out.trees.size()); ++t) {
      ObliviousTree one = grow(t, depth_.of(t));
      double gain = 0;
      if (!one.column.empty()) gain = gain_of(one);
      if (!(gain > 0.0) || !(gain > least_gain(gain))) {
        ++failed;
        depth_.add(t, 0.0);
        continue;
      }
      failed = 0;
      depth_.add(t, gain);
      out.gain += gain;
      accept();
      out.trees.push_back(std::move(one));
    }
    if (options_.validation_share > 0) refit(out.trees);
    return out;
  }

 private:
  static constexpr std::uint64_t kValidationSalt = 0x5bd1e9955bd1e995;
  static constexpr double kStandardErrors = 0.5;  // that a tree must gain on validation rows

  static double fraction(std::uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }
  double own_share(double w) const { return options_.self_weight * std::min(w, 1.0); }

  // The rows as the other model predicts them.
  void start() {
    for (std::size_t i = 0; i < row_.size(); ++i) {
      for (std::size_t c = 0; c < K_; ++c) rows_.joint.data()[c * rows_.padded + i] = data_.joint[row_[i] * K_ + c];
    }
    for (std::size_t k = 0; k < judge_.size(); ++k) {
      for (std::size_t c = 0; c < K_; ++c)
        judges_.joint.data()[c * judges_.padded + k] = data_.joint[row_[judge_[k]] * K_ + c];
    }
    const std::vector<double> none(K_, 0.0);
    for (ScoredRows* each : {&rows_, &judges_}) {
      std::fill(each->node.begin(), each->node.end(), std::uint16_t{0});
      each->update(none.data(), none.data(), options_);
      each->accept();
    }
  }

  // The same cuts, with the values of all rows.
  void refit(std::vector<ObliviousTree>& trees) {
    count_weight_ = w_;
    judge_.clear();
    judges_ = ScoredRows{};
    start();
    for (ObliviousTree& one : trees) {
      fill_leaves(one);
      rows_.update(observed_.data(), expected_.data(), options_);
      rows_.accept();
    }
  }

  bool validates() const { return options_.validation_share > 0; }
  const ScoredRows& holdout() const { return validates() ? judges_ : rows_; }

  // Fills the values of the leaves, scores the rows that judge and returns by how much their mean log-loss falls.
  // Where a share of the rows judges, the others are scored if the tree is kept.
  double gain_of(ObliviousTree& one) {
    fill_leaves(one);
    for (std::size_t k = 0; k < judge_.size(); ++k) judges_.node[k] = rows_.node[judge_[k]];
    (validates() ? judges_ : rows_).update(observed_.data(), expected_.data(), options_);
    const ScoredRows& judges = holdout();
    return holdout_total_ > 0 ? TB_CALL(loss_reduction, judges.loss.data(), judges.next_loss.data(),
                                        holdout_weight_.data(), judges.padded) /
                                    holdout_total_
                              : 0.0;
  }

  void accept() {
    if (validates()) {
      judges_.accept();
      rows_.update(observed_.data(), expected_.data(), options_);
    }
    rows_.accept();
  }

  // The same rows judge all trees: what they gain by chance would add up.
  double least_gain(double mean) const {
    if (!validates()) return 0.0;
    double sum = 0;
    for (std::size_t k = 0; k < judge_.size(); ++k) {
      const double each = holdout_weight_.data()[k] * (judges_.loss.data()[k] - judges_.next_loss.data()[k] - mean);
      sum += each * each;
    }
    return kStandardErrors * std::sqrt(sum) / holdout_total_;
  }

  std::size_t patience(std::size_t found) const {
    return options_.patience + static_cast<std::size_t>(options_.patience_per_tree * static_cast<double>(found));
  }

  // --- the cuts of one tree ---

  ObliviousTree grow(std::size_t t, std::size_t depth) {
    pick_rows(t);
    const std::size_t some = pick_columns(t);
    drop_negligible_gradients();
    ObliviousTree out;
    const std::size_t m = sampled_.size();
    if (is_interleaved_)
      paired_blocks_.read(data_, gradients_, bins_, row_.size(), column_.data(), some, sampled_);
    else
      read_sample_bins(some);
    order_.resize(m + 1), next_order_.resize(m + 1),
        second_half_.resize(m + 1);  // the last is of no row: see split_cells
    std::iota(order_.begin(), order_.end(), 0u);
    start_ = {0, static_cast<std::uint32_t>(m)};
    double score = 0;
    for (std::size_t l = 0; l < depth; ++l) {
      best_.assign(some, Cut{});
      const auto ridge = static_cast<float>(std::max(scale_ * options_.ridge, 1e-18));  // its square must be above 0
      const TreeCells cells{start_.size() - 1, start_.data(), order_.data(), gradient_.data(), gradients_, ridge};
      const std::size_t blocks = (some + kCutColumns - 1) / kCutColumns;
      parallel_for(is_interleaved_ ? paired_blocks_.blocks() : blocks, [&](std::size_t block, int thread) {
        Aligned<float>& space = scratch_[static_cast<std::size_t>(thread)];
        const std::size_t first = block * kCutColumns;
        if (is_interleaved_)
          paired_blocks_.find_cuts(block, cells, space, best_.data());
        else
          find_cuts(first, std::min(some, first + kCutColumns), cells, space);
      });
      const Cut* most = nullptr;
      for (const Cut& each : best_)
        if (each.column >= 0 && (!most || each.score > kScoreMargin * most->score)) most = &each;
      if (!most || !(most->score > score + scale_ * options_.min_gain)) break;
      score = most->score;
      out.column.push_back(most->column);
      out.cut.push_back(most->at);
      const auto k = static_cast<std::size_t>(most - best_.data());
      if (l + 1 == depth) break;
      if (is_interleaved_)
        split_cells(*most, paired_blocks_.near(k));
      else
        split_cells(*most, NearBins<std::uint8_t>{&sample_bin_[k * m], 1, 1, none_of(column_[k])});
    }
    return out;
  }

  void read_sample_bins(std::size_t some) {
    const std::size_t m = sampled_.size();
    sample_bin_.resize(some * m + 1);
    for (std::size_t k = 0; k < some; ++k) {
      const std::uint8_t* bin = bins_of(column_[k]);
      const std::uint32_t* row = sampled_.data();
      std::uint8_t* to = sample_bin_.data() + k * m;
      const std::uint8_t none = none_of(column_[k]);
      for (std::size_t q = 0; q < m; ++q) to[q] = std::min(bin[row[q]], none);
    }
  }

  // The gradients of the sampled rows. Rows that are predicted rightly, and so surely that all of them together would
  // change no score, leave the sample.
  void drop_negligible_gradients() {
    const auto least = static_cast<float>(scale_ / static_cast<double>(sampled_.size()));
    std::size_t count = 0;
    std::uint32_t* some = sampled_.data();
    if (K_ == 2) {
      const double* share = rows_.probability.data() + rows_.padded;
      float* gradient = gradient_.data();
      for (std::size_t q = 0; q < sampled_.size(); ++q) {
        const std::uint32_t i = some[q];
        const double w = scale_ * w_[i], p = share[i];
        const auto g = static_cast<float>(w * (rows_.own.data()[i] - p));
        gradient[2 * count] = g;
        gradient[2 * count + 1] = static_cast<float>(w * p * (1 - p));
        some[count] = i;
        count += !(std::abs(g) < least);
      }
      sampled_.resize(count);
      return;
    }
    for (std::size_t q = 0; q < sampled_.size(); ++q) {
      const std::uint32_t i = some[q];
      const double w = scale_ * w_[i];
      float* gradient = gradient_.data() + 2 * count * padded_gradients_;
      float most = 0;
      for (std::size_t c = 0; c < gradients_; ++c) {
        const double p = rows_.probability.data()[c * rows_.padded + i];
        const auto g = static_cast<float>(w * ((rows_.y[i] == c ? 1.0 : 0.0) - p));
        gradient[is_interleaved_ ? 2 * c : c] = g;
        gradient[is_interleaved_ ? 2 * c + 1 : padded_gradients_ + c] = static_cast<float>(w * p * (1 - p));
        most = std::max(most, std::abs(g));
      }
      some[count] = i;
      count += !(most < least);
    }
    sampled_.resize(count);
  }

  // Each cell in two, in the order of the rows; those without a bin leave.
  template <class T>
  void split_cells(const Cut& cut, const NearBins<T>& near) {
    const bool ordered = data_.ordered[cut.column];
    const std::size_t at = static_cast<std::size_t>(cut.near) * near.times;
    next_start_.clear();
    std::size_t to = 0;
    for (std::size_t u = 0; u + 1 < start_.size(); ++u) {
      next_start_.push_back(static_cast<std::uint32_t>(to));
      std::size_t others = 0;
      for (std::size_t k = start_[u]; k < start_[u + 1]; ++k) {
        const std::uint32_t q = order_[k];
        const std::size_t bin = near.bin[q * near.stride];
        const bool here = bin != near.none, other = ordered ? bin <= at : bin == at;
        next_order_[to] = q;  // unless it stays, the next one takes its place
        second_half_[others] = q;
        to += here && !other;
        others += here && other;
      }
      next_start_.push_back(static_cast<std::uint32_t>(to));
      std::copy_n(second_half_.begin(), others, next_order_.begin() + static_cast<std::ptrdiff_t>(to));
      to += others;
    }
    next_start_.push_back(static_cast<std::uint32_t>(to));
    order_.swap(next_order_);
    start_.swap(next_start_);
  }

  // At most half of the rows, by a bit of their keys; from another place on for each tree.
  void pick_rows(std::size_t t) {
    const std::size_t n = row_.size(), most = std::min(options_.rows, n / 2);
    TB_CALL(sample_half, key_.data(), n, t + (options_.seed << 32), in_sample_.data());
    if (options_.validation_share > 0)
      for (std::size_t r = 0; r < n; ++r) in_sample_[r] &= static_cast<std::uint8_t>(1 - is_validation_[r]);
    sampled_.resize(most + 1);  // the last is of no row
    std::size_t i = t * 2 * most % n, count = 0, k = 0;
    for (; k < n && count < most; ++k, i = i + 1 == n ? 0 : i + 1) {
      sampled_[count] = static_cast<std::uint32_t>(i);
      count += in_sample_[i];
    }
    for (; k < n; ++k, i = i + 1 == n ? 0 : i + 1) in_sample_[i] = 0;
    sampled_.resize(count);
    if (options_.validation_share > 0) return;
    holdout_total_ = TB_CALL(holdout_weights, in_sample_.data(), w_.data(), n, holdout_weight_.data());
  }

  std::size_t pick_columns(std::size_t t) {
    const std::size_t d = column_.size(), some = std::min(options_.columns, d);
    std::uint64_t state = splitmix64(~(t + (options_.seed << 32)));
    for (std::size_t k = 0; k < some; ++k) {
      state = splitmix64(state);
      std::swap(column_[k], column_[k + state % (d - k)]);
    }
    return some;
  }

  // What stands in sample_bin_ for rows that take no part: behind all bins.
  std::uint8_t none_of(std::size_t column) const { return static_cast<std::uint8_t>(data_.bins[column]); }
  const std::uint8_t* bins_of(std::size_t column) const { return bins_ + column * row_.size(); }

  // The best cut of each of some columns.
  void find_cuts(std::size_t first, std::size_t end, const TreeCells& cells, Aligned<float>& space) {
    CutColumn column[kCutColumns];
    std::size_t of[kCutColumns], columns = 0, room = 0;
    for (std::size_t k = first; k < end; ++k) {
      const auto bins = static_cast<std::size_t>(data_.bins[column_[k]]);
      if (bins < 2) continue;
      column[columns] = {sample_bin_.data() + k * sampled_.size(), bins, data_.ordered[column_[k]], nullptr, nullptr};
      of[columns++] = k;
      room += padded_bins(bins) + cut_room(bins, gradients_);
    }
    if (columns == 0) return;
    space.at_least(room);
    float* next = space.data();
    for (std::size_t j = 0; j < columns; ++j) {
      column[j].score = next;
      column[j].sum = next += padded_bins(column[j].bins);
      next += cut_room(column[j].bins, gradients_);
    }
    TB_CALL(cut_scores, cells, column, columns);
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t cuts = column[j].ordered ? column[j].bins - 1 : column[j].bins;
      Cut& best = best_[of[j]];
      for (std::size_t b = 0; b < cuts; ++b) {
        if (!(column[j].score[b] > kScoreMargin * best.score)) continue;
        const auto at = static_cast<std::int32_t>(b);
        best = {static_cast<std::int32_t>(column_[of[j]]), at, at, column[j].score[b]};
      }
    }
  }

  // --- its values ---

  // The leaf of each row, observed_ and expected_ of each node, and the values of the leaves.
  void fill_leaves(ObliviousTree& one) {
    const std::size_t cuts = one.column.size(), nodes = (std::size_t{2} << cuts) - 1;
    std::fill(rows_.node.begin(), rows_.node.end(), std::uint16_t{0});
    std::fill(missing_.begin(), missing_.end(), std::uint8_t{0});
    for (std::size_t l = 0; l < cuts; ++l) {  // the nodes below node v are 2 v + 1 and 2 v + 2
      const auto column = static_cast<std::size_t>(one.column[l]);
      TB_CALL(descend_rows, bins_of(column), row_.size(), data_.ordered[column], static_cast<std::uint8_t>(one.cut[l]),
              missing_.data(), rows_.node.data());
    }
    std::vector<double>&n = observed_, &e = expected_;
    n.assign(nodes * K_, 0.0);
    e.assign(nodes * K_, 0.0);
    count_nodes(nodes, n.data(), e.data());
    for (std::size_t v = nodes; v-- > 1;) {
      for (std::size_t c = 0; c < K_; ++c) {
        n[(v - 1) / 2 * K_ + c] += n[v * K_ + c];
        e[(v - 1) / 2 * K_ + c] += e[v * K_ + c];
      }
    }
    one.value.assign(nodes * K_, 0.0);
    for (std::size_t k = K_; k < nodes * K_; ++k)
      one.value[k] = options_.learning_rate * std::log((n[k] + options_.pseudo_count) / (e[k] + options_.pseudo_count));
  }

  // Weight of each node's rows, observed and expected. Four partial sums of each: additions to one would wait for each
  // other.
  void count_nodes(std::size_t nodes, double* n, double* e) {
    const auto all = [](const double* lane, std::size_t step) {
      return (lane[0] + lane[step]) + (lane[2 * step] + lane[3 * step]);
    };
    std::vector<double>& sum = lane_sums_;
    if (K_ == 2) {
      sum.assign(16 * nodes, 0.0);
      TB_CALL(paired_counts, rows_.node.data(), rows_.y.data(), count_weight_.data(), rows_.probability.data(),
              rows_.padded, row_.size(), sum.data());
      for (std::size_t k = 0; k < 2 * nodes; ++k) {
        n[k] = all(&sum[k / 2 * 16 + k % 2], 4);
        e[k] = all(&sum[k / 2 * 16 + k % 2 + 2], 4);
      }
      return;
    }
    for (std::size_t i = 0; i < row_.size(); ++i) n[rows_.node[i] * K_ + rows_.y[i]] += count_weight_[i];
    for (std::size_t c = 0; c < K_; ++c) {
      const double* share = rows_.probability.data() + c * rows_.padded;
      sum.assign(4 * nodes, 0.0);
      for (std::size_t i = 0; i < row_.size(); ++i) sum[4 * rows_.node[i] + i % 4] += count_weight_[i] * share[i];
      for (std::size_t v = 0; v < nodes; ++v) e[v * K_ + c] = all(&sum[4 * v], 1);
    }
  }

  const BoostingData& data_;
  const BoostingOptions& options_;
  std::size_t K_;
  std::size_t gradients_, padded_gradients_;  // of two classes one gradient implies the other
  TreeDepth depth_;
  bool is_interleaved_;                  // few gradients: paired_blocks_ finds the cuts
  double scale_ = 1;                     // of gradients, so that weights of any size fit a float
  std::vector<Aligned<float>> scratch_;  // of each thread

  // Rows that take part.
  std::vector<std::uint32_t> row_;
  std::vector<std::uint64_t> key_;
  std::vector<double> w_, lane_sums_;
  std::vector<double> count_weight_;  // 0 for validation rows
  std::vector<std::uint8_t> is_validation_;
  ScoredRows rows_;                          // all of them
  ScoredRows judges_;                        // a copy of the validation rows …
  std::vector<std::uint32_t> judge_;         // … which they are
  std::vector<double> observed_, expected_;  // (nodes, classes): the rows of the tree that is tried
  AlignedArray holdout_weight_;              // of the rows that judge; 0 for others
  double holdout_total_ = 0;
  std::vector<std::uint8_t> missing_;  // a bin was missing: the row left the tree
  std::vector<std::uint8_t> bin_;      // (columns, rows), unless those of the data
  const std::uint8_t* bins_ = nullptr;

  // The sample of rows and columns on which the cuts of a tree are searched.
  std::vector<std::uint8_t> in_sample_;
  std::vector<std::uint32_t> column_, sampled_;
  std::vector<std::uint32_t> order_, start_, next_order_, next_start_, second_half_;  // its rows, cell after cell
  std::vector<std::uint8_t> sample_bin_;                                              // (columns, sampled rows)
  Aligned<float> gradient_;  // (sampled rows, 2, padded_gradients_): w ([y] - P), and the hessian w P (1 - P)
  std::vector<Cut> best_;
  InterleavedBlocks paired_blocks_;
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

BoostedTrees fit_boosting(const BoostingData& problem, const BoostingOptions& search) {
  return BoostingSearch(problem, search).run();
}

}  // namespace tb
