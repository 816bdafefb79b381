#include "core/ensemble/stacking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "core/encode/labels.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/stacking.hpp"

namespace tb {
namespace {

constexpr std::size_t kCache = std::size_t{1} << 16;  // floats of a block's terms: two such blocks lie in half a MiB
constexpr std::size_t kMostRows = 512;
constexpr int kMaxBacktracks = 12;
constexpr double kTolerance = 1e-6;

std::size_t rows_of_block(const StackingData& p) {
  const std::size_t fit = kCache / std::max<std::size_t>(p.terms * p.classes, 1) / kWeightLanes * kWeightLanes;
  return std::clamp(fit, kWeightLanes, kMostRows);
}

// Does the row take part? Throws for what nobody can answer.
bool takes_part(const StackingData& p, std::size_t t) {
  constexpr double most = 1e300;  // differences must stay finite
  for (std::size_t c = 0; c < p.classes; ++c) {
    const double s = p.start[t * p.classes + c];
    if (!(std::abs(s) <= most || s == -std::numeric_limits<double>::infinity())) {
      throw std::invalid_argument("start must be finite, or -inf for a class that cannot be");
    }
  }
  if (p.w) check_weight(p.w[t]);
  check_class(p.y[t], p.classes);
  return p.y[t] >= 0 && !(p.w && p.w[t] == 0.0) && p.start[t * p.classes + static_cast<std::size_t>(p.y[t])] >= -most;
}

// What a thread finds about a block, until its turn comes to be added.
struct Workspace {
  Workspace(std::size_t terms, std::size_t classes, std::size_t rows, std::size_t padded)
      : sums((terms + classes) + padded * padded + terms * classes + classes * classes),
        doubles(2 * classes * rows),
        floats(3 * classes * rows + rows + padded * classes * rows) {
    const std::size_t all = classes * rows;
    to.gradient = sums.data();
    to.between = to.gradient + terms + classes;
    to.across = to.between + padded * padded;
    to.classes = to.across + terms * classes;
    to.share = doubles.data();
    to.residual = to.share + all;
    to.weight = floats.data();
    to.lean = to.weight + all;
    to.root = to.lean + all;
    to.mean = to.root + all;
    to.x = to.mean + rows;
    std::fill(to.x + terms * (all - rows), to.x + padded * all, 0.0f);
    std::fill(sums.data(), sums.data() + sums.size(), 0.0);
  }
  AlignedArray sums, doubles;
  Buffer<float> floats;
  WeightSums to{};
};

// Solves H s = g for some of the unknowns; H (n, n) has its lower triangle. What is left of g is 0.
std::vector<double> solved(const std::vector<double>& H, const std::vector<double>& g,
                           const std::vector<std::size_t>& some) {
  const std::size_t n = g.size(), m = some.size(), stride = (m + kWeightLanes - 1) / kWeightLanes * kWeightLanes;
  AlignedArray upper(m * stride), to(stride);
  std::vector<double> whole(m), out(n, 0.0);
  for (std::size_t a = 0; a < m; ++a) {
    double* row = upper.data() + a * stride;
    std::fill(row, row + a, 0.0);
    for (std::size_t b = a; b < m; ++b) row[b] = H[some[b] * n + some[a]];
    std::fill(row + m, row + stride, 0.0);
    whole[a] = row[a];
    to.data()[a] = g[some[a]];
  }
  std::fill(to.data() + m, to.data() + stride, 0.0);
  TB_CALL(weight_solve, upper.data(), stride, whole.data(), to.data(), m);
  for (std::size_t a = 0; a < m; ++a) out[some[a]] = to.data()[a];
  return out;
}

}  // namespace

class Newton {
 public:
  Newton(const StackingProblem& data, Fold half, const RidgePenalty& pull)
      : data_(data),
        p_(pull),
        D_(data.terms_),
        K_(data.classes_),
        rows_(data.rows_),
        padded_((D_ + kWeightTile - 1) / kWeightTile * kWeightTile),
        from_(half == Fold::second ? data.split_ : 0),
        to_(half == Fold::first ? data.split_ : data.blocks_) {
    joint_ = AlignedArray((to_ - from_) * rows_ * K_);
    move_ = AlignedArray((to_ - from_) * rows_ * K_);
    for (std::size_t b = from_; b < to_; ++b) total_ += data.each_[b];
    const double* v = p_.first ? p_.first : p_.centre;
    out_.v.assign(v, v + D_);
    out_.b.assign(K_, 0.0);
    if (p_.first) std::copy_n(p_.first + D_, K_, out_.b.begin());
    parallel_for(to_ - from_, [this](std::size_t b, int) {
      data_.at(from_ + b, out_.v.data(), out_.b.data(), joint(b));
      std::fill(move(b), move(b) + rows_ * K_, 0.0);
    });
    space_.resize(static_cast<std::size_t>(threads()));
  }

  Weights run(std::size_t steps) {
    out_.loss = loss(0.0);
    double whole = out_.loss + penalty(out_.v, out_.b);
    while (out_.taken < steps && to_ > from_) {
      const double fall = step(whole);
      if (fall > 0) ++out_.taken, whole -= fall;
      if (!(fall > kTolerance * total_)) break;
    }
    return std::move(out_);
  }

 private:
  double* joint(std::size_t b) { return joint_.data() + b * rows_ * K_; }
  double* move(std::size_t b) { return move_.data() + b * rows_ * K_; }
  WeightBlock block(std::size_t b) { return data_.block(from_ + b, joint(b)); }

  double loss(double step) {
    std::vector<double> part(to_ - from_);
    parallel_for(part.size(), [&](std::size_t b, int) { part[b] = TB_CALL(weight_loss, block(b), move(b), step); });
    double sum = 0;
    for (const double s : part) sum += s;
    return sum * data_.scale_;
  }

  double penalty(const std::vector<double>& v, const std::vector<double>& b) const {
    double terms = 0, classes = 0;
    for (std::size_t d = 0; d < D_; ++d) terms += p_.ridge[d] * (v[d] - p_.centre[d]) * (v[d] - p_.centre[d]);
    for (const double x : b) classes += x * x;
    return 0.5 * (terms + p_.bias_ridge * classes);
  }

  // One damped step; returns by how much the whole falls, 0 if it cannot.
  double step(double whole) {
    const std::vector<double> s = direction();
    for (const double x : s)
      if (!std::isfinite(x)) return 0.0;
    parallel_for(to_ - from_,
                 [&](std::size_t b, int) { TB_CALL(weight_move, block(b), s.data(), s.data() + D_, move(b)); });
    double size = 1.0;
    for (int halving = 0; halving <= kMaxBacktracks; ++halving, size /= 2) {
      std::vector<double> v = out_.v, b = out_.b;
      for (std::size_t d = 0; d < D_; ++d) {
        v[d] += size * s[d];
        if (p_.bounded && p_.bounded[d]) v[d] = std::max(v[d], 0.0);  // to within rounding it is
      }
      for (std::size_t c = 0; c < K_; ++c) b[c] += size * s[D_ + c];
      const double rows = loss(size), next = rows + penalty(v, b);
      if (!(next < whole)) continue;
      out_.v = std::move(v), out_.b = std::move(b), out_.loss = rows;
      parallel_for(to_ - from_, [&](std::size_t at, int) {
        for (std::size_t i = 0; i < rows_ * K_; ++i) joint(at)[i] += size * move(at)[i];
      });
      return whole - next;
    }
    return 0.0;
  }

  // The step to the least of the quadratic form at v and b: - H^-1 g, except that weights which may not and would fall
  // below 0 go to 0, and the others as far as is best with that.
  std::vector<double> direction() {
    AlignedArray sums(gather());
    const std::size_t D = D_, K = K_, n = D + K;
    const double* between = sums.data() + n;
    const double* across = between + padded_ * padded_;
    const double* classes = across + D * K;
    std::vector<double> g(n), H(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) g[i] = -data_.scale_ * sums.data()[i];
    for (std::size_t d = 0; d < D; ++d) {
      g[d] -= p_.ridge[d] * (out_.v[d] - p_.centre[d]);
      for (std::size_t e = 0; e <= d; ++e) H[d * n + e] = data_.scale_ * between[d * padded_ + e];
      H[d * n + d] += p_.ridge[d];
    }
    for (std::size_t c = 0; c < K; ++c) {
      g[D + c] -= p_.bias_ridge * out_.b[c];
      for (std::size_t d = 0; d < D; ++d) H[(D + c) * n + d] = data_.scale_ * across[d * K + c];
      for (std::size_t e = 0; e <= c; ++e) H[(D + c) * n + D + e] = data_.scale_ * classes[c * K + e];
      H[(D + c) * n + D + c] += p_.bias_ridge;
    }
    return bounded(H, g);
  }

  std::vector<double> bounded(const std::vector<double>& H, const std::vector<double>& g) const {
    const std::size_t n = g.size();
    std::vector<bool> held(n, false);
    std::vector<std::size_t> free_ones;
    for (std::size_t tries = 0;; ++tries) {
      std::vector<double> from(g);
      free_ones.clear();
      for (std::size_t i = 0; i < n; ++i) {
        if (!held[i]) {
          free_ones.push_back(i);
          continue;
        }
        for (std::size_t j = 0; j < n; ++j) from[j] += out_.v[i] * H[std::max(i, j) * n + std::min(i, j)];
      }
      std::vector<double> to = solved(H, from, free_ones);
      if (!p_.bounded) return to;
      for (std::size_t i = 0; i < n; ++i) {
        if (held[i]) to[i] = -out_.v[i];
      }
      bool more = false;
      for (std::size_t d = 0; d < D_; ++d) {
        if (!p_.bounded[d] || held[d] || !(out_.v[d] + to[d] < 0)) continue;
        held[d] = more = true;
      }
      if (more) continue;
      std::size_t free = n;  // release the one with the most negative reduced gradient
      double most = -1e-9;
      for (std::size_t i = 0; i < D_; ++i) {
        if (!held[i]) continue;
        double slope = -g[i];
        for (std::size_t j = 0; j < n; ++j) slope += H[std::max(i, j) * n + std::min(i, j)] * to[j];
        if (slope < most * H[i * n + i]) most = slope / H[i * n + i], free = i;
      }
      if (free == n || tries > 2 * n) return to;  // so many tries no table takes; the next step goes on
      held[free] = false;
    }
  }

  AlignedArray gather() {
    AlignedArray out((D_ + K_) * (1 + K_) + padded_ * padded_);
    std::fill(out.data(), out.data() + out.size(), 0.0);
    parallel_ordered(
        to_ - from_,
        [&](std::size_t b, int thread) {
          auto& mine = space_[static_cast<std::size_t>(thread)];
          if (!mine) mine = std::make_unique<Workspace>(D_, K_, rows_, padded_);
          TB_CALL(weight_sums, block(b), mine->to);
        },
        [&](std::size_t, int thread) {
          const double* from = space_[static_cast<std::size_t>(thread)]->sums.data();
          for (std::size_t i = 0; i < out.size(); ++i) out.data()[i] += from[i];
        });
    return out;
  }

  const StackingProblem& data_;
  const RidgePenalty& p_;
  std::size_t D_, K_, rows_, padded_, from_, to_;  // rows_: of a block; blocks [from_, to_)
  AlignedArray joint_, move_;                      // [block][class][row]
  double total_ = 0.0;                             // weight of the rows
  std::vector<std::unique_ptr<Workspace>> space_;
  Weights out_;
};

StackingProblem::StackingProblem(const StackingData& p)
    : terms_(p.terms), classes_(p.classes), rows_(rows_of_block(p)) {
  std::vector<std::uint32_t> row[2];
  for (std::size_t t = 0; t < p.rows; ++t) {
    if (!takes_part(p, t)) continue;
    row[p.second && p.second[t]].push_back(static_cast<std::uint32_t>(t));
    scale_ = std::max(scale_, p.w ? p.w[t] : 1.0);
  }
  constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<std::uint32_t> all;  // rows of the blocks, `none` at the end of a half
  for (const std::vector<std::uint32_t>& half : row) {
    all.insert(all.end(), half.begin(), half.end());
    all.resize((all.size() + rows_ - 1) / rows_ * rows_, none);
    if (&half == row) split_ = all.size() / rows_;
  }
  blocks_ = all.size() / rows_;
  term_ = std::make_unique<Buffer<float>>(all.size() * p.classes * p.terms);
  start_ = AlignedArray(all.size() * p.classes);
  y_.assign(all.size(), 0);
  w_.assign(all.size(), 0.0);
  each_.assign(blocks_, 0.0);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k] == none) continue;
    const double w = p.w ? p.w[all[k]] : 1.0;
    y_[k] = p.y[all[k]];
    w_[k] = w / scale_;
    each_[k / rows_] += w;
  }
  parallel_for(blocks_, [&](std::size_t b, int) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(b * rows_);
    pack(b, p, {first, std::find(first, first + static_cast<std::ptrdiff_t>(rows_), none)});
  });
}

WeightBlock StackingProblem::block(std::size_t b, const double* joint) const {
  return {terms_, classes_,       rows_,         term_->data() + b * rows_ * classes_ * terms_,
          joint,  &y_[b * rows_], &w_[b * rows_]};
}

void StackingProblem::pack(std::size_t b, const StackingData& p, const std::vector<std::uint32_t>& row) {
  const std::size_t K = classes_, count = row.size();
  std::vector<std::uint8_t> open(count * K);
  bool all = true;
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t c = 0; c < K; ++c) {
      open[k * K + c] = std::isfinite(p.start[row[k] * K + c]);
      all = all && open[k * K + c];
    }
  }
  double* start = start_.data() + b * rows_ * K;
  if (!TB_CALL(weight_pack, p.term, p.rows * K, row.data(), count, all ? nullptr : open.data(), terms_, K, rows_,
               term_->data() + b * rows_ * K * terms_)) {
    throw std::invalid_argument("terms must be finite");
  }
  std::fill_n(start, rows_ * K, 0.0);
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t c = 0; c < K; ++c) start[c * rows_ + k] = p.start[row[k] * K + c];
  }
}

void StackingProblem::at(std::size_t b, const double* v, const double* bias, double* joint) const {
  TB_CALL(weight_move, block(b, joint), v, bias, joint);
  const double* start = start_.data() + b * rows_ * classes_;
  for (std::size_t i = 0; i < rows_ * classes_; ++i) joint[i] += start[i];
}

Weights StackingProblem::fit(Fold half, const RidgePenalty& pull, std::size_t steps) const {
  return Newton(*this, half, pull).run(steps);
}

double StackingProblem::loss(Fold half, const double* v, const double* b) const {
  const std::size_t from = half == Fold::second ? split_ : 0, to = half == Fold::first ? split_ : blocks_;
  std::vector<double> part(to - from);
  parallel_for(part.size(), [&](std::size_t at_block, int) {
    AlignedArray joint(rows_ * classes_), still(rows_ * classes_);
    std::fill_n(still.data(), rows_ * classes_, 0.0);
    at(from + at_block, v, b, joint.data());
    part[at_block] = TB_CALL(weight_loss, block(from + at_block, joint.data()), still.data(), 0.0);
  });
  double sum = 0;
  for (const double s : part) sum += s;
  return sum * scale_;
}

void weighted_terms(const float* term, std::size_t terms, std::size_t size, const double* v, double* out) {
  constexpr std::size_t some = 1024;  // that stay in the nearest cache
  parallel_for((size + some - 1) / some, [&](std::size_t block, int) {
    const std::size_t first = block * some;
    TB_CALL(weight_terms, term + first, terms, size, std::min(some, size - first), v, out + first);
  });
}

}  // namespace tb
