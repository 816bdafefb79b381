#include "core/corrections.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/aligned.hpp"
#include "core/chains.hpp"
#include "core/labels.hpp"
#include "core/threads.hpp"
#include "kernels/corrections.hpp"

namespace tb {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr std::uint32_t kGone = ~0u;  // in place of a cell: the row has left

struct Cut {
  std::int32_t column = -1, at = -1;
  double score = 0;
};

class Search {
 public:
  Search(const CorrectionProblem& p, const CorrectionSearch& s)
      : p_(p), s_(s), K_(p.classes), slopes_(K_ == 2 ? 1 : K_) {
    for (std::size_t r = 0; r < p.rows; ++r) {
      check_class(p.y[r], K_);
      check_weight(p.w[r]);
      if (p.y[r] < 0 || p.w[r] == 0.0) continue;
      row_.push_back(static_cast<std::uint32_t>(r));
      y_.push_back(static_cast<std::uint32_t>(p.y[r]));
      w_.push_back(p.w[r]);
    }
    wide_ = (row_.size() + kCorrectionLanes - 1) / kCorrectionLanes * kCorrectionLanes;
    for (AlignedArray* each : {&joint_, &next_, &share_, &later_, &up_, &down_}) *each = AlignedArray(K_ * wide_);
    for (AlignedArray* each : {&whole_, &then_}) *each = AlignedArray(wide_);
    std::fill_n(joint_.data(), K_ * wide_, 0.0);
    std::fill_n(up_.data(), K_ * wide_, 1.0);
    std::fill_n(down_.data(), K_ * wide_, 1.0);
    for (std::size_t i = 0; i < row_.size(); ++i) {
      for (std::size_t c = 0; c < K_; ++c) joint_.data()[c * wide_ + i] = p.joint[row_[i] * K_ + c];
    }
    bin_.resize(p.columns * row_.size());
    for (std::size_t j = 0; j < p.columns; ++j) {
      for (std::size_t i = 0; i < row_.size(); ++i) bin_[j * row_.size() + i] = p.bin[j * p.rows + row_[i]];
    }
    node_.resize(row_.size());
    searched_.resize(row_.size());
    column_.resize(p.columns);
    std::iota(column_.begin(), column_.end(), 0u);
  }

  Corrections run() {
    Corrections out;
    if (row_.size() < 2 || K_ < 2) return out;
    move();
    accept();
    std::size_t failed = 0;
    for (std::size_t t = 0; t < s_.most && failed < s_.patience; ++t) {
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
  // --- the cuts of one correction ---

  Correction grow(std::size_t t) {
    pick_rows(t);
    const std::size_t some = pick_columns(t);
    for (std::size_t q = 0; q < some_.size(); ++q) {
      const std::size_t i = some_[q];
      for (std::size_t c = 0; c < slopes_; ++c) {
        const std::size_t of = K_ == 2 ? 1 : c;
        const double p = share_.data()[of * wide_ + i];
        slope_[(q * slopes_ + c) * 2] = w_[i] * ((y_[i] == of ? 1.0 : 0.0) - p);
        slope_[(q * slopes_ + c) * 2 + 1] = w_[i] * p * (1 - p);
      }
    }
    Correction out;
    cell_.assign(some_.size(), 0);
    near_.resize(some * some_.size());
    for (std::size_t k = 0; k < some; ++k) {
      const std::uint8_t* bin = bins_of(column_[k]);
      for (std::size_t q = 0; q < some_.size(); ++q) near_[k * some_.size() + q] = bin[some_[q]];
    }
    double score = 0;
    for (std::size_t l = 0; l < s_.depth; ++l) {
      std::vector<Cut> best(some);
      const std::size_t m = some_.size(), cells = std::size_t{1} << l;
      parallel_for(some, [&](std::size_t k, int) {
        const std::uint8_t* bin = near_.data() + k * m;
        best[k] = slopes_ == 1 ? look<2>(column_[k], bin, cells) : look<0>(column_[k], bin, cells);
      });
      const Cut* most = nullptr;
      for (const Cut& each : best)
        if (each.column >= 0 && (!most || each.score > most->score)) most = &each;
      if (!most || !(most->score > score + s_.least)) break;
      score = most->score;
      out.column.push_back(most->column);
      out.cut.push_back(most->at);
      const auto chosen = static_cast<std::size_t>(most - best.data());
      for (std::size_t q = 0; q < m; ++q) {
        const std::uint8_t b = near_[chosen * m + q];
        cell_[q] = b == kNoBin ? kGone : 2 * cell_[q] + second(*most, b);
      }
      leave(some);
    }
    return out;
  }

  // Rows without a bin in the column that was cut.
  void leave(std::size_t columns) {
    const std::size_t m = some_.size(), each = 2 * slopes_;
    if (std::find(cell_.begin(), cell_.end(), kGone) == cell_.end()) return;
    std::size_t to = 0;
    for (std::size_t k = 0; k < columns; ++k) {
      for (std::size_t q = 0; q < m; ++q)
        if (cell_[q] != kGone) near_[to++] = near_[k * m + q];
    }
    near_.resize(to);
    std::size_t kept = 0;
    for (std::size_t q = 0; q < m; ++q) {
      if (cell_[q] == kGone) continue;
      some_[kept] = some_[q], cell_[kept] = cell_[q];
      std::copy_n(&slope_[q * each], each, &slope_[kept * each]);
      ++kept;
    }
    some_.resize(kept), cell_.resize(kept);
  }

  // At most half of the rows, by a bit of their keys; from another place on for each correction.
  void pick_rows(std::size_t t) {
    const std::size_t n = row_.size(), most = std::min(s_.rows, n / 2);
    std::fill(searched_.begin(), searched_.end(), 0);
    some_.clear();
    for (std::size_t k = 0; k < n && some_.size() < most; ++k) {
      const std::size_t i = (k + t * 2 * most) % n;
      if (mixed(p_.key[row_[i]] + t + (s_.seed << 32)) >> 63) continue;
      some_.push_back(static_cast<std::uint32_t>(i));
      searched_[i] = 1;
    }
    slope_.resize(some_.size() * 2 * slopes_);
  }

  std::size_t pick_columns(std::size_t t) {
    const std::size_t d = column_.size(), some = std::min(s_.columns, d);
    std::uint64_t state = mixed(~(t + (s_.seed << 32)));
    for (std::size_t k = 0; k < some; ++k) {
      state = mixed(state);
      std::swap(column_[k], column_[k + state % (d - k)]);
    }
    return some;
  }

  const std::uint8_t* bins_of(std::size_t column) const { return bin_.data() + column * row_.size(); }

  std::size_t second(const Cut& cut, std::uint8_t bin) const {
    return p_.ordered[cut.column] ? bin <= cut.at : bin == cut.at;
  }

  // The best cut of a column, by the sum over cells of (sum of slopes)^2 / (sum of curvatures + ridge). bin: of the
  // searched rows. kEach: numbers of a row, 2 slopes_, or 0 where they are not known beforehand.
  template <std::size_t kEach>
  Cut look(std::uint32_t j, const std::uint8_t* bin, std::size_t cells) const {
    const auto bins = static_cast<std::size_t>(p_.bins[j]);
    Cut best;
    if (bins < 2) return best;
    const std::size_t each = kEach ? kEach : 2 * slopes_;
    std::vector<double> sum(cells * bins * each, 0.0), whole(each), score(bins, 0.0);
    for (std::size_t q = 0; q < some_.size(); ++q) {
      if (bin[q] == kNoBin) continue;
      double* to = &sum[(cell_[q] * bins + bin[q]) * each];
      const double* from = &slope_[q * each];
      for (std::size_t e = 0; e < each; ++e) to[e] += from[e];
    }
    const bool ordered = p_.ordered[j];
    const std::size_t cuts = ordered ? bins - 1 : bins;
    for (std::size_t u = 0; u < cells; ++u) {
      double* here = &sum[u * bins * each];
      std::fill(whole.begin(), whole.end(), 0.0);
      for (std::size_t k = 0; k < bins * each; k += each) {
        for (std::size_t e = 0; e < each; ++e) {
          whole[e] += here[k + e];
          if (ordered) here[k + e] = whole[e];
        }
      }
      for (std::size_t e = 0; e < each; e += 2) {
        for (std::size_t b = 0; b < cuts; ++b) {
          const double g = here[b * each + e], h = here[b * each + e + 1], other = whole[e] - g;
          score[b] += g * g / (h + s_.ridge) + other * other / (std::max(whole[e + 1] - h, 0.0) + s_.ridge);
        }
      }
    }
    for (std::size_t b = 0; b < cuts; ++b) {
      if (score[b] > best.score) best = {static_cast<std::int32_t>(j), static_cast<std::int32_t>(b), score[b]};
    }
    return best;
  }

  // --- what it changes ---

  // Fills the values, moves all rows, each without itself, and tells by how much the mean log-loss of those falls on
  // which no cut was searched.
  double judge(Correction& one) {
    const std::size_t cuts = one.column.size(), nodes = (std::size_t{2} << cuts) - 1;
    std::fill(node_.begin(), node_.end(), 0u);
    std::vector<std::uint8_t> out(row_.size(), 0);  // a bin was missing
    for (std::size_t l = 0; l < cuts; ++l) {
      const Cut cut{one.column[l], one.cut[l], 0};
      const std::uint8_t* bin = bins_of(static_cast<std::size_t>(cut.column));
      for (std::size_t i = 0; i < row_.size(); ++i) {  // the nodes below node v are 2 v + 1 and 2 v + 2
        const std::uint8_t b = bin[i];
        out[i] |= b == kNoBin;
        if (!out[i]) node_[i] = static_cast<std::uint32_t>(2 * node_[i] + 1 + second(cut, b));
      }
    }
    std::vector<double> n(nodes * K_, 0.0), e(nodes * K_, 0.0);
    for (std::size_t i = 0; i < row_.size(); ++i) {
      n[node_[i] * K_ + y_[i]] += w_[i];
      for (std::size_t c = 0; c < K_; ++c) e[node_[i] * K_ + c] += w_[i] * share_.data()[c * wide_ + i];
    }
    for (std::size_t v = nodes; v-- > 1;) {
      for (std::size_t c = 0; c < K_; ++c) {
        n[(v - 1) / 2 * K_ + c] += n[v * K_ + c];
        e[(v - 1) / 2 * K_ + c] += e[v * K_ + c];
      }
    }
    one.value.assign(nodes * K_, 0.0);
    for (std::size_t k = K_; k < nodes * K_; ++k)
      one.value[k] = s_.step * std::log((n[k] + s_.worth) / (e[k] + s_.worth));
    for (std::size_t c = 0; c < K_; ++c) {
      const double* share = share_.data() + c * wide_;
      double *up = up_.data() + c * wide_, *down = down_.data() + c * wide_;
      for (std::size_t i = 0; i < row_.size(); ++i) {
        const double unit = std::min(w_[i], 1.0);
        const std::size_t v = node_[i];
        const bool told = v > 0;
        up[i] = told ? std::max(n[v * K_ + c] - (y_[i] == c ? unit : 0.0), 0.0) + s_.worth : 1.0;
        down[i] = told ? std::max(e[v * K_ + c] - unit * share[i], 0.0) + s_.worth : 1.0;
      }
    }
    move();
    double gain = 0, judges = 0;
    for (std::size_t i = 0; i < row_.size(); ++i) {
      if (searched_[i]) continue;
      gain += w_[i] * (loss(joint_, whole_, i) - loss(next_, then_, i));
      judges += w_[i];
    }
    return judges > 0 ? gain / judges : 0.0;
  }

  void move() {
    const CorrectionRows rows{wide_,   K_,           joint_.data(), up_.data(),  down_.data(),
                              s_.step, next_.data(), later_.data(), then_.data()};
    TB_CALL(correct_rows, rows);
  }
  void accept() {
    std::swap(joint_, next_);
    std::swap(share_, later_);
    std::swap(whole_, then_);
  }
  double loss(const AlignedArray& joint, const AlignedArray& whole, std::size_t i) const {
    return whole.data()[i] - joint.data()[y_[i] * wide_ + i];
  }

  const CorrectionProblem& p_;
  const CorrectionSearch& s_;
  std::size_t K_, slopes_;  // of two classes one slope tells the other
  std::vector<std::uint32_t> row_, y_;
  std::vector<double> w_;
  std::size_t wide_ = 0;
  AlignedArray joint_, next_, share_, later_, up_, down_, whole_, then_;
  std::vector<std::uint32_t> node_, column_, some_, cell_;
  std::vector<std::uint8_t> searched_, bin_, near_;  // bins: (columns, rows that take part), (columns, searched rows)
  std::vector<double> slope_;                        // (searched rows, slopes, 2): w ([y] - P), and w P (1 - P)
};

}  // namespace

Corrections find_corrections(const CorrectionProblem& problem, const CorrectionSearch& search) {
  return Search(problem, search).run();
}

}  // namespace tb
