#include "core/weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "core/aligned.hpp"
#include "core/buffer.hpp"
#include "core/labels.hpp"
#include "core/threads.hpp"
#include "kernels/weights.hpp"

namespace tb {
namespace {

constexpr std::size_t kCache = std::size_t{1} << 16;  // floats of a block's terms: two such blocks lie in half a MiB
constexpr std::size_t kMostRows = 512;
constexpr int kHalvings = 12;
constexpr double kEnough = 1e-6;

std::size_t rows_of_block(const WeightProblem& p) {
  const std::size_t fit = kCache / std::max<std::size_t>(p.terms * p.classes, 1) / kWeightLanes * kWeightLanes;
  return std::clamp(fit, kWeightLanes, kMostRows);
}

// Does the row take part? Throws for what nobody can answer.
bool takes_part(const WeightProblem& p, std::size_t t) {
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
  Workspace(const WeightProblem& p, std::size_t rows, std::size_t padded)
      : sums((p.terms + p.classes) + padded * padded + p.terms * p.classes + p.classes * p.classes),
        doubles(2 * p.classes * rows),
        floats(2 * p.classes * rows + rows + padded * p.classes * rows) {
    const std::size_t all = p.classes * rows;
    to.gradient = sums.data();
    to.between = to.gradient + p.terms + p.classes;
    to.across = to.between + padded * padded;
    to.classes = to.across + p.terms * p.classes;
    to.share = doubles.data();
    to.surplus = to.share + all;
    to.share32 = floats.data();
    to.root = to.share32 + all;
    to.mean = to.root + all;
    to.x = to.mean + rows;
    std::fill(to.x + p.terms * all, to.x + padded * all, 0.0f);
    std::fill(sums.data(), sums.data() + sums.size(), 0.0);
  }
  AlignedArray sums, doubles;
  Buffer<float> floats;
  WeightSums to{};
};

// The sum of products, in four sums that do not wait for each other.
double product(const double* a, const double* b, std::size_t n) {
  double s[4] = {};
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4) {
    for (std::size_t i = 0; i < 4; ++i) s[i] += a[k + i] * b[k + i];
  }
  for (; k < n; ++k) s[0] += a[k] * b[k];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// Solves H s = g in place of g; H (n, n) has its lower triangle, and loses it. Directions in which H is flat to within
// rounding are left alone: s = 0 there.
void solve(std::vector<double>& H, std::vector<double>& g) {
  const std::size_t n = g.size();
  std::vector<bool> flat(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    double* row = &H[i * n];
    const double whole = row[i];
    for (std::size_t j = 0; j < i; ++j) {
      const double* other = &H[j * n];
      row[j] = flat[j] ? 0.0 : (row[j] - product(row, other, j)) / other[j];
      row[i] -= row[j] * row[j];
    }
    flat[i] = !(row[i] > 1e-8 * whole);  // H comes from floats: what is left is noise
    row[i] = flat[i] ? 1.0 : std::sqrt(row[i]);
    if (flat[i]) std::fill(row, row + i, 0.0), g[i] = 0.0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    g[i] = (g[i] - product(&H[i * n], g.data(), i)) / H[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    g[i] /= H[i * n + i];
    for (std::size_t k = 0; k < i; ++k) g[k] -= H[i * n + k] * g[i];
  }
}

class Newton {
 public:
  explicit Newton(const WeightProblem& p)
      : p_(p), rows_(rows_of_block(p)), padded_((p.terms + kWeightTile - 1) / kWeightTile * kWeightTile) {
    for (std::size_t t = 0; t < p.rows; ++t) {
      if (takes_part(p, t)) row_.push_back(static_cast<std::uint32_t>(t));
    }
    blocks_ = (row_.size() + rows_ - 1) / rows_;
    const std::size_t all = blocks_ * rows_ * p.classes;
    term_ = std::make_unique<Buffer<float>>(all * p.terms);
    joint_ = AlignedArray(all);
    move_ = AlignedArray(all);
    y_.assign(blocks_ * rows_, 0);
    w_.assign(blocks_ * rows_, 0.0);
    for (const std::uint32_t t : row_) {
      const double w = p.w ? p.w[t] : 1.0;
      scale_ = std::max(scale_, w);
      total_ += w;
    }
    for (std::size_t k = 0; k < row_.size(); ++k) {
      y_[k] = p.y[row_[k]];
      w_[k] = p.w ? p.w[row_[k]] / scale_ : 1.0;
    }
    const double* v = p.first ? p.first : p.centre;
    out_.v.assign(v, v + p.terms);
    out_.b.assign(p.classes, 0.0);
    if (p.first) std::copy_n(p.first + p.terms, p.classes, out_.b.begin());
    parallel_for(blocks_, [this](std::size_t b, int) { pack(b); });
    space_.resize(static_cast<std::size_t>(threads()));
  }

  Weights run(std::size_t steps) {
    out_.loss = loss(0.0);
    double whole = out_.loss + penalty(out_.v, out_.b);
    while (out_.taken < steps && blocks_ > 0) {
      const double fall = step(whole);
      if (fall > 0) ++out_.taken, whole -= fall;
      if (!(fall > kEnough * total_)) break;
    }
    return std::move(out_);
  }

 private:
  WeightBlock block(std::size_t b) {
    const std::size_t all = rows_ * p_.classes;
    return {p_.terms,       p_.classes,    rows_, term_->data() + b * all * p_.terms, joint_.data() + b * all,
            &y_[b * rows_], &w_[b * rows_]};
  }

  // Copies a block's terms and sets J to where v and b begin.
  void pack(std::size_t b) {
    const std::size_t K = p_.classes, first = b * rows_, count = std::min(rows_, row_.size() - first);
    std::vector<std::uint8_t> open(count * K);
    bool all = true;
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < K; ++c) {
        open[k * K + c] = std::isfinite(p_.start[row_[first + k] * K + c]);
        all = all && open[k * K + c];
      }
    }
    const WeightBlock at = block(b);
    if (!TB_CALL(weight_pack, p_.term, p_.rows * K, &row_[first], count, all ? nullptr : open.data(), p_.terms, K,
                 rows_, const_cast<float*>(at.term))) {
      throw std::invalid_argument("terms must be finite");
    }
    double* joint = joint_.data() + first * K;
    TB_CALL(weight_move, at, out_.v.data(), out_.b.data(), joint);
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < K; ++c) joint[c * rows_ + k] += p_.start[row_[first + k] * K + c];
    }
    std::fill(move_.data() + first * K, move_.data() + (first + rows_) * K, 0.0);
  }

  double loss(double step) {
    std::vector<double> part(blocks_);
    parallel_for(blocks_, [&](std::size_t b, int) {
      part[b] = TB_CALL(weight_loss, block(b), move_.data() + b * rows_ * p_.classes, step);
    });
    double sum = 0;
    for (const double s : part) sum += s;
    return sum * scale_;
  }

  double penalty(const std::vector<double>& v, const std::vector<double>& b) const {
    double terms = 0, classes = 0;
    for (std::size_t d = 0; d < p_.terms; ++d) terms += p_.ridge[d] * (v[d] - p_.centre[d]) * (v[d] - p_.centre[d]);
    for (const double x : b) classes += x * x;
    return 0.5 * (terms + p_.bias_ridge * classes);
  }

  // One damped step; returns by how much the whole falls, 0 if it cannot.
  double step(double whole) {
    const std::vector<double> s = direction();
    for (const double x : s)
      if (!std::isfinite(x)) return 0.0;
    parallel_for(blocks_, [&](std::size_t b, int) {
      TB_CALL(weight_move, block(b), s.data(), s.data() + p_.terms, move_.data() + b * rows_ * p_.classes);
    });
    double size = 1.0;
    for (int halving = 0; halving <= kHalvings; ++halving, size /= 2) {
      std::vector<double> v = out_.v, b = out_.b;
      for (std::size_t d = 0; d < p_.terms; ++d) {
        v[d] += size * s[d];
        if (p_.bounded && p_.bounded[d]) v[d] = std::max(v[d], 0.0);  // to within rounding it is
      }
      for (std::size_t c = 0; c < p_.classes; ++c) b[c] += size * s[p_.terms + c];
      const double rows = loss(size), next = rows + penalty(v, b);
      if (!(next < whole)) continue;
      out_.v = std::move(v), out_.b = std::move(b), out_.loss = rows;
      const std::size_t all = rows_ * p_.classes;
      parallel_for(blocks_, [&](std::size_t block, int) {
        for (std::size_t i = block * all; i < (block + 1) * all; ++i) joint_.data()[i] += size * move_.data()[i];
      });
      return whole - next;
    }
    return 0.0;
  }

  // The step to the least of the quadratic form at v and b: - H^-1 g, except that weights which may not and would fall
  // below 0 go to 0, and the others as far as is best with that.
  std::vector<double> direction() {
    AlignedArray sums(gather());
    const std::size_t D = p_.terms, K = p_.classes, n = D + K;
    const double* between = sums.data() + n;
    const double* across = between + padded_ * padded_;
    const double* classes = across + D * K;
    std::vector<double> g(n), H(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) g[i] = -scale_ * sums.data()[i];
    for (std::size_t d = 0; d < D; ++d) {
      g[d] -= p_.ridge[d] * (out_.v[d] - p_.centre[d]);
      for (std::size_t e = 0; e <= d; ++e) H[d * n + e] = scale_ * between[d * padded_ + e];
      H[d * n + d] += p_.ridge[d];
    }
    for (std::size_t c = 0; c < K; ++c) {
      g[D + c] -= p_.bias_ridge * out_.b[c];
      for (std::size_t d = 0; d < D; ++d) H[(D + c) * n + d] = scale_ * across[d * K + c];
      for (std::size_t e = 0; e <= c; ++e) H[(D + c) * n + D + e] = scale_ * classes[c * K + e];
      H[(D + c) * n + D + c] += p_.bias_ridge;
    }
    return p_.bounded ? bounded(H, g) : solved(H, g);
  }

  static std::vector<double> solved(std::vector<double> H, std::vector<double> g) {
    solve(H, g);
    return g;
  }

  std::vector<double> bounded(const std::vector<double>& H, const std::vector<double>& g) const {
    const std::size_t n = g.size();
    std::vector<bool> held(n, false);
    for (std::size_t tries = 0;; ++tries) {
      std::vector<double> some(H), to(g);
      for (std::size_t i = 0; i < n; ++i) {
        if (!held[i]) continue;
        for (std::size_t j = 0; j < n; ++j) {
          if (!held[j]) to[j] += out_.v[i] * H[std::max(i, j) * n + std::min(i, j)];
        }
      }
      for (std::size_t i = 0; i < n; ++i) {
        if (!held[i]) continue;
        for (std::size_t j = 0; j < n; ++j) some[std::max(i, j) * n + std::min(i, j)] = 0.0;
        some[i * n + i] = 1.0;
        to[i] = -out_.v[i];
      }
      solve(some, to);
      bool more = false;
      for (std::size_t d = 0; d < p_.terms; ++d) {
        if (!p_.bounded[d] || held[d] || !(out_.v[d] + to[d] < 0)) continue;
        held[d] = more = true;
      }
      if (more) continue;
      std::size_t free = n;  // the one held at 0 that would rise most gladly, now that others are held
      double most = -1e-9;
      for (std::size_t i = 0; i < p_.terms; ++i) {
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
    AlignedArray out((p_.terms + p_.classes) * (1 + p_.classes) + padded_ * padded_);
    std::fill(out.data(), out.data() + out.size(), 0.0);
    parallel_ordered(
        blocks_,
        [&](std::size_t b, int thread) {
          auto& mine = space_[static_cast<std::size_t>(thread)];
          if (!mine) mine = std::make_unique<Workspace>(p_, rows_, padded_);
          TB_CALL(weight_sums, block(b), mine->to);
        },
        [&](std::size_t, int thread) {
          const double* from = space_[static_cast<std::size_t>(thread)]->sums.data();
          for (std::size_t i = 0; i < out.size(); ++i) out.data()[i] += from[i];
        });
    return out;
  }

  const WeightProblem& p_;
  std::size_t rows_, padded_, blocks_ = 0;  // rows of a block
  std::vector<std::uint32_t> row_;          // those that take part
  std::unique_ptr<Buffer<float>> term_;     // [block][term][class][row]
  AlignedArray joint_, move_;               // [block][class][row]
  std::vector<std::int32_t> y_;
  std::vector<double> w_;             // over scale_
  double scale_ = 0.0, total_ = 0.0;  // the largest weight, and their sum
  std::vector<std::unique_ptr<Workspace>> space_;
  Weights out_;
};

}  // namespace

Weights fit_weights(const WeightProblem& problem, std::size_t steps) { return Newton(problem).run(steps); }

}  // namespace tb
